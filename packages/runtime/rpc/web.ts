/** The routes as a web-standard handler, for HTTP/1.1 servers such as a Hono app: Connect and gRPC-web. @module */
import { createConnectRouter } from "@connectrpc/connect";
import { createFetchHandler } from "@connectrpc/connect/protocol";
import type { Routes } from "./routes.ts";

/** Answers a request, or `undefined` if its path is none of the routes'. */
export type WebHandler = (request: Request) => Promise<Response> | undefined;

/** Makes the handler. gRPC itself is left out: it needs trailers, which a `Response` cannot have. */
export function createWebHandler(routes: Routes): WebHandler {
  const router = createConnectRouter({ grpc: false });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, createFetchHandler(handler)]));
  return (request) => handlers.get(new URL(request.url).pathname)?.(request);
}
