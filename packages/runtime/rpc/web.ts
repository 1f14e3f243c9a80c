/** Handles Connect and gRPC-web requests in a web-standard server such as a Hono app. @module */
import { createConnectRouter } from "@connectrpc/connect";
import { createFetchHandler } from "@connectrpc/connect/protocol";
import type { Routes } from "./routes.ts";

/** Handles a request; undefined if its path belongs to no service. */
export type WebHandler = (request: Request) => Promise<Response> | undefined;

/** Creates the handler. gRPC is not supported: it needs trailers, which a `Response` cannot have. */
export function createWebHandler(routes: Routes): WebHandler {
  const router = createConnectRouter({ grpc: false });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, createFetchHandler(handler)]));
  return (request) => handlers.get(new URL(request.url).pathname)?.(request);
}
