/** Which user a call of E2B's protocol runs as: named by Basic authentication, which here is no authentication. @module */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { Process, type StreamInputRequest } from "../../../runtime-api/gen/e2b/process_pb.ts";
import { Refused } from "../../files/refused.ts";
import { codedError } from "../../rpc/lookup.ts";
import { passedOn } from "../../users/services.ts";
import { APP_HEADER, type UserRuntime } from "../../users/userruntime.ts";
import { findUser, type Users } from "../../users/users.ts";

const BASIC = /^Basic +([A-Za-z0-9+/_-]+=*) *$/i;

/** Returns the user that the `Authorization` header names; undefined: none, or another kind of credentials. */
function basicUser(authorization: string | null | undefined): string | undefined {
  const encoded = BASIC.exec(authorization ?? "")?.[1];
  return encoded === undefined
    ? undefined
    : Buffer.from(encoded, "base64").toString().replace(/:.*$/s, "") || undefined;
}

/** @throws {Refused} UNAUTHENTICATED: there is no such user; PERMISSION_DENIED: callers may not choose this user */
export function checkUser(users: Users, name: string | undefined): void {
  try {
    users.check(name);
  } catch (error) {
    if (!name || findUser(name, readFileSync("/etc/passwd", "utf8"))) throw error;
    throw new Refused("UNAUTHENTICATED", `invalid username: '${name}'`);
  }
}

/** As {@link checkUser}, for a call. @throws {ConnectError} */
export function checkCaller(users: Users, headers: Headers): void {
  try {
    checkUser(users, basicUser(headers.get("authorization")));
  } catch (error) {
    throw error instanceof Refused && error.code === "UNAUTHENTICATED"
      ? new ConnectError(error.message, Code.Unauthenticated)
      : codedError(error);
  }
}

type Handle = (request: unknown, context: HandlerContext) => unknown;

/**
 * Where a call goes.
 *
 * | route | runtime |
 * |---|---|
 * | `user` | that of the user whom the call names, or of the default user |
 * | `id` | the one that knows the process or watcher which the call names |
 * | `all` | all of them; their answers are joined |
 */
export type Route = "user" | "id" | "all";

/** Wraps a service, so that calls for other users go to the runtimes of those users. */
export function forE2BUsers<S extends DescService>(
  service: S,
  own: ServiceImpl<S>,
  users: Users,
  routes: Record<string, Route>,
): ServiceImpl<S> {
  if (users.isSingle) return own;
  const handlers = own as Record<string, Handle>;
  const wrapped = service.methods.map((method) => [method.localName, wrap(method)]);
  return Object.fromEntries(wrapped) as ServiceImpl<S>;

  function wrap(method: DescMethod): Handle {
    const name = method.localName;
    const route = routes[name] ?? "user";
    const call = (other: UserRuntime | undefined, request: unknown, context: HandlerContext): unknown => {
      if (!other) return handlers[name]!(request, context);
      const client = createClient(service, other.transport) as unknown as Record<string, Handle>;
      const { signal, requestHeader } = context;
      const timeoutMs = context.timeoutMs();
      return client[name]!(
        request,
        { signal, headers: kept(requestHeader), ...timeoutMs === undefined ? {} : { timeoutMs } } as never,
      );
    };
    const candidates = async (context: HandlerContext) => {
      if (route === "user") return [await runtimeOf(users, context.requestHeader)];
      return [undefined, ...users.others()];
    };
    if (method.methodKind === "client_streaming") {
      return async (requests, context) => {
        const { first, all } = await withFirst(requests as AsyncIterable<StreamInputRequest>);
        const other = await runtimeRunning(users, first?.event);
        return await Promise.resolve(call(other, all, context)).catch((error) => {
          throw other ? passedOn(error, other, context) : error;
        });
      };
    }
    if (method.methodKind === "server_streaming") {
      return async function* (request, context) {
        const all = await candidates(context);
        for (const [index, other] of all.entries()) {
          let hasBegun = false;
          try {
            for await (const message of call(other, request, context) as AsyncIterable<unknown>) {
              hasBegun = true;
              yield message;
            }
            return;
          } catch (error) {
            if (!hasBegun && isUnknown(error) && index < all.length - 1) continue;
            throw other ? passedOn(error, other, context) : error;
          }
        }
      };
    }
    return async (request, context) => {
      const all = await candidates(context);
      if (route === "all") {
        // A runtime that has just ended has nothing to add.
        const answers = all.map((other) => Promise.resolve(call(other, request, context)).catch(() => ({})));
        return joined((await Promise.all(answers)) as Record<string, unknown[]>[]);
      }
      for (const [index, other] of all.entries()) {
        try {
          return await call(other, request, context);
        } catch (error) {
          if (isUnknown(error) && index < all.length - 1) continue;
          throw other ? passedOn(error, other, context) : error;
        }
      }
      return {};
    };
  }
}

/** Reads the first message of a stream. */
async function withFirst<T>(requests: AsyncIterable<T>): Promise<{ first: T | undefined; all: AsyncIterable<T> }> {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* all(): AsyncGenerator<T> {
    if (first.done) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { first: first.done ? undefined : first.value, all: all() };
}

/** Finds the runtime of another user in which a process runs. Undefined: it runs here or nowhere. */
async function runtimeRunning(users: Users, event: StreamInputRequest["event"] | undefined) {
  const named = event?.case === "start" ? event.value.process?.selector.value : undefined;
  for (const other of named === undefined ? [] : users.others()) {
    const { processes } = await createClient(Process, other.transport).list({}, {
      headers: TO_APP.map(([...pair]) => pair),
    });
    if (processes.some(({ pid, tag }) => pid === named || tag === named)) return other;
  }
  return undefined;
}

function joined(answers: Record<string, unknown[]>[]): Record<string, unknown[]> {
  const [first = {}] = answers;
  const fields = Object.keys(first).filter((field) => Array.isArray(first[field]));
  return Object.fromEntries(fields.map((field) => [field, answers.flatMap((answer) => answer[field] ?? [])]));
}

function isUnknown(error: unknown): boolean {
  return ConnectError.from(error).code === Code.NotFound;
}

async function runtimeOf(users: Users, headers: Headers): Promise<UserRuntime | undefined> {
  try {
    return await users.runtimeOf(basicUser(headers.get("authorization")));
  } catch (error) {
    throw codedError(error);
  }
}

/** Leads a call to this app in the runtime of another user. */
const TO_APP = [[APP_HEADER, "envd"]] as const;

/** Passes on what the runtime of the user needs; the user itself is known there. */
function kept(headers: Headers): Record<string, string> {
  const names = ["traceparent", "tracestate", "keepalive-ping-interval", "e2b-sandbox-id"];
  const given = names.flatMap((name) => headers.has(name) ? [[name, headers.get(name)!] as const] : []);
  return Object.fromEntries([...given, ...TO_APP]);
}
