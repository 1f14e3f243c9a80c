/** Registers all Connect services of the runtime, for gRPC and for web-standard servers such as a Hono app. @module */
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  type HandlerContext,
} from "@connectrpc/connect";
import { createFetchHandler } from "@connectrpc/connect/protocol";
import { USER_HEADER } from "../../api/router/protocol.ts";
import { ServerReflection } from "../../runtime-api/gen/grpc/reflection/v1/reflection_pb.ts";
import { ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../runtime-api/gen/process/v1/process_pb.ts";
import { FileWatcherService } from "../../runtime-api/gen/watcher/v1/watcher_pb.ts";
import { STOPPING } from "../http/guard.ts";
import type { TokenCheck } from "../token.ts";
import { type ContextsServiceOptions, createContextsService } from "./contexts.ts";
import { createProcessService, type ProcessServiceOptions } from "./process.ts";
import { codedError } from "./lookup.ts";
import { createProcessesService, type ProcessesServiceOptions } from "./processes.ts";
import { AlphaServerReflection, createReflection } from "./reflection.ts";
import { createWatcherService } from "./watcher.ts";
import { forUsers } from "../users/services.ts";
import { ONE_USER, type Users } from "../users/users.ts";

/** What the services need, and who may call them. */
export interface RoutesOptions extends ProcessServiceOptions, ProcessesServiceOptions, ContextsServiceOptions {
  /** Absent: no token is required. */
  token?: TokenCheck | undefined;
  /** Absent: every call runs in this process. */
  users?: Users;
  /** Aborts when the runtime begins to stop. Absent: it never stops. */
  stop?: AbortSignal;
}

/** Registers services on a Connect router. */
export type Routes = (router: ConnectRouter) => void;

/** Largest request message, in bytes. Clients split longer input. */
const READ_MAX_BYTES = 16 << 20;

/** Creates the routes. The same routes serve gRPC, gRPC-web and Connect. */
export function createRoutes(options: RoutesOptions): Routes {
  const { token, stop, users = ONE_USER, processes, contexts } = options;
  const shared = {
    readMaxBytes: READ_MAX_BYTES,
    // Not an interceptor: that one is called only after the whole message of a unary call has arrived.
    requestGate: async ({ requestHeader }: HandlerContext) => {
      if (stop?.aborted) throw new ConnectError(STOPPING, Code.Unavailable);
      if (token) await requireToken(token, requestHeader);
      try {
        users.check(requestHeader.get(USER_HEADER));
      } catch (error) {
        throw codedError(error);
      }
    },
  };
  const reflection = createReflection([
    ProcessService,
    ProcessesService,
    ContextsService,
    FileWatcherService,
    ServerReflection,
    AlphaServerReflection,
  ]);
  const everybody = { users, processes, contexts };
  return (router) => {
    router.service(ProcessService, forUsers(ProcessService, createProcessService(options), everybody), shared);
    router.service(ProcessesService, forUsers(ProcessesService, createProcessesService(options), everybody), shared);
    router.service(ContextsService, forUsers(ContextsService, createContextsService(options), everybody), shared);
    router.service(FileWatcherService, forUsers(FileWatcherService, createWatcherService(options), everybody), shared);
    router.service(ServerReflection, reflection, shared);
    router.service(AlphaServerReflection, reflection, shared);
  };
}

async function requireToken(check: TokenCheck, headers: Headers): Promise<void> {
  const verdict = await check(headers.get("authorization"));
  if (verdict === "right" || verdict === "none") return;
  const why = verdict === "missing" ? "it has no bearer token" : "it has another bearer token";
  throw new ConnectError(`Cannot answer the call: ${why}`, Code.Unauthenticated);
}

/**
 * Handles a request; undefined if its path belongs to no service.
 *
 * @param path absent: that of the request
 */
type WebHandler = (request: Request, path?: string) => Promise<Response> | undefined;

/** Creates the handler. gRPC is not supported: it needs trailers, which a `Response` cannot have. */
export function createWebHandler(routes: Routes, options: ConnectRouterOptions = {}): WebHandler {
  const router = createConnectRouter({ ...options, grpc: false });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, createFetchHandler(handler)]));
  return (request, path = new URL(request.url).pathname) => handlers.get(path)?.(request);
}
