/** Calls of the Connect services for other users: passes them on to the runtimes of those users. @module */
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { USER_HEADER } from "../../api/router/protocol.ts";
import { ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import type { Contexts } from "../contexts/contexts.ts";
import type { Processes } from "../processes/processes.ts";
import { codedError, throwIfBrokenOff } from "../rpc/lookup.ts";
import type { UserRuntime } from "./userruntime.ts";
import type { Users } from "./users.ts";

/** The users, and what runs in this process. */
interface Everybody {
  users: Users;
  processes: Processes;
  contexts: Contexts;
}

/**
 * Finds the runtime that has started a process. Undefined: this process.
 *
 * A process that runs is preferred to one that has ended, because the system uses ids again.
 */
export async function runtimeOfProcess({ users, processes }: Omit<Everybody, "contexts">, pid: number) {
  const own = processes.get(pid);
  const others = users.others();
  if ((own && !own.end) || others.length === 0) return undefined;
  // The only runtime that there is says best why it has no such process.
  if (!own && users.home && others.length === 1) return users.home;
  const found = await Promise.all(others.map(async (other) => {
    const { processes: theirs } = await createClient(ProcessesService, other.transport).list({});
    const process = theirs.find(({ processId }) => processId === pid);
    return process && { other, hasEnded: process.end !== undefined };
  }));
  const known = found.filter((one) => one !== undefined);
  const running = known.find(({ hasEnded }) => !hasEnded);
  if (running || !own) return (running ?? known[0])?.other;
  return undefined;
}

async function runtimeOfContext({ users, contexts }: Everybody, id: string): Promise<UserRuntime | undefined> {
  if (contexts.get(id)) return undefined;
  for (const other of users.others()) {
    const { contexts: theirs } = await createClient(ContextsService, other.transport).listContexts({});
    if (theirs.some(({ contextId }) => contextId === id)) return other;
  }
  return undefined;
}

/** A call names its user by a header; otherwise, the id of a process or context says whose it is. */
async function runtimeFor(all: Everybody, request: object, { requestHeader }: HandlerContext) {
  const name = requestHeader.get(USER_HEADER);
  const { processId, contextId } = request as { processId?: number; contextId?: string };
  try {
    if (!name && processId !== undefined) return await runtimeOfProcess(all, processId);
    if (!name && contextId) return await runtimeOfContext(all, contextId);
    return await all.users.runtimeOf(name);
  } catch (error) {
    throw codedError(error);
  }
}

type Merge = (answers: Message[]) => object;

/** Calls without a user that ask for everything: their answers are joined. */
const JOINED: Record<string, Merge> = {
  [ProcessesService.method.list.localName]: (answers) => ({
    processes: fieldsOf(answers, "processes"),
    jobs: fieldsOf(answers, "jobs"),
  }),
  [ContextsService.method.listContexts.localName]: (answers) => ({ contexts: fieldsOf(answers, "contexts") }),
  [ProcessesService.method.getMetrics.localName]: (answers) => ({
    ...answers[0],
    processes: fieldsOf(answers, "processes"),
    activity: sumOf(answers.map((answer) => (answer as unknown as { activity: Counts }).activity)),
  }),
};

function fieldsOf(answers: Message[], field: string): unknown[] {
  return answers.flatMap((answer) => (answer as unknown as Record<string, unknown[]>)[field] ?? []);
}

interface Counts {
  runningCommands: number;
  runningTerminals: number;
  attachedStreams: number;
  busyContexts: number;
  lastActiveAt: { seconds: bigint };
}

/** The rate of the CPU is that of the whole sandbox, so that of the first answer stays. */
function sumOf(counts: Counts[]): Counts | undefined {
  const [first, ...rest] = counts;
  return first && rest.reduce((sum, one) => ({
    ...sum,
    runningCommands: sum.runningCommands + one.runningCommands,
    runningTerminals: sum.runningTerminals + one.runningTerminals,
    attachedStreams: sum.attachedStreams + one.attachedStreams,
    busyContexts: sum.busyContexts + one.busyContexts,
    lastActiveAt: one.lastActiveAt.seconds > sum.lastActiveAt.seconds ? one.lastActiveAt : sum.lastActiveAt,
  }), first);
}

type Handle = (request: object, context: HandlerContext) => unknown;

/** Wraps a service, so that calls for other users go to their runtimes. */
export function forUsers<S extends DescService>(service: S, own: ServiceImpl<S>, all: Everybody): ServiceImpl<S> {
  if (all.users.isSingle) return own;
  const handlers = own as Record<string, Handle>;
  const wrapped = service.methods.map((method) => [method.localName, wrap(method, handlers[method.localName]!)]);
  return Object.fromEntries(wrapped) as ServiceImpl<S>;

  function wrap(method: DescMethod, handle: Handle): Handle {
    const send = (other: UserRuntime, request: object, { signal, requestHeader }: HandlerContext): unknown => {
      const client = createClient(service, other.transport) as unknown as Record<string, Handle>;
      return client[method.localName]!(request, { signal, headers: traceOf(requestHeader) } as never);
    };
    if (method.methodKind === "server_streaming") {
      return async function* (request, context) {
        const other = await runtimeFor(all, request, context);
        try {
          yield* (other ? send(other, request, context) : handle(request, context)) as AsyncIterable<unknown>;
        } catch (error) {
          throw other ? passedOn(error, other, context) : error;
        }
      };
    }
    return async (request, context) => {
      const join = context.requestHeader.get(USER_HEADER) ? undefined : JOINED[method.localName];
      if (join) {
        // A runtime that has just ended has nothing to add.
        const others = all.users.others().map((other) =>
          Promise.resolve(send(other, request, context)).catch(() => [])
        );
        return join([await handle(request, context), await Promise.all(others)].flat(2) as Message[]);
      }
      const other = await runtimeFor(all, request, context);
      if (!other) return await handle(request, context);
      return await Promise.resolve(send(other, request, context)).catch((error) => {
        throw passedOn(error, other, context);
      });
    };
  }
}

/** Returns an error without the headers of the response that it came with, which belong to that connection. */
export function passedOn(error: unknown, { name }: UserRuntime, { signal }: HandlerContext): unknown {
  throwIfBrokenOff(signal);
  const { rawMessage, code, cause } = ConnectError.from(error);
  // An error with a cause is of this side. The code is none that makes a client send its command again.
  if (cause !== undefined) return new ConnectError(`Cannot go on: the runtime of user ${name} ended`, Code.Aborted);
  return new ConnectError(rawMessage, code);
}

function traceOf(headers: Headers): Record<string, string> {
  const names = ["traceparent", "tracestate"];
  return Object.fromEntries(names.flatMap((name) => headers.has(name) ? [[name, headers.get(name)!]] : []));
}
