/** hookbox.runtime.v1.ProcessesService: detached processes, their output and their end, and metrics. @module */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type {
  AttachRequest,
  ProcessesService,
  StartDetachedRequest,
} from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { type ProcessEntry, readCommand, startOf } from "../../process/proctable.ts";
import type { Root } from "../confine.ts";
import type { Metrics } from "../processes/metrics.ts";
import type { Process, ProcessEnd, Processes } from "../processes/processes.ts";
import { coded, commandOf, findProcess, findRunning, sizeOf, throwIfBrokenOff } from "./lookup.ts";

/** What the service needs. */
export interface ProcessesServiceOptions {
  root: Root;
  processes: Processes;
  metrics: Metrics;
}

/** Number of request ids that are remembered. A client repeats a request within seconds. */
const REMEMBERED_REQUESTS = 10_000;

/** Creates the service. */
export function createProcessesService(options: ProcessesServiceOptions): ServiceImpl<typeof ProcessesService> {
  const { processes, metrics } = options;
  const once = createOnce<{ processId: number }>(REMEMBERED_REQUESTS);
  return {
    list: () => ({ processes: processes.list().map(infoOf), jobs: metrics.read().activity.jobs.map(jobOf) }),
    startDetached: (request, context) => once(request.requestId, () => startDetached(options, request, context)),
    run: async function* (request, context) {
      const { processId } = await once(request.requestId, () => startDetached(options, request, context));
      yield { event: { case: "started" as const, value: { processId } } };
      yield* attach(processes, { processId, offset: 0n, noFollow: false, requestId: "" }, context);
      // The caller has read past the end event, and so has received it.
      const entry = processes.get(processId);
      if (entry) entry.isDelivered = true;
    },
    attach: (request, context) => attach(processes, request, context),
    acknowledge: ({ processId, offset }) => {
      logOf(findProcess(processes, processId)).acknowledge(Number(offset));
      return {};
    },
    wait: async ({ processId }, { signal }) => {
      const end = await findProcess(processes, processId).endedUnless(signal);
      throwIfBrokenOff(signal);
      return end ? { end: endOf(end) } : {};
    },
    kill: ({ processId }) => {
      findRunning(processes, processId).kill();
      return {};
    },
    remove: ({ processId }) => {
      if (findProcess(processes, processId).end) processes.remove(processId);
      else throw new ConnectError(`Cannot remove process ${processId}: it runs`, Code.FailedPrecondition);
      return {};
    },
    getMetrics: () => metricsOf(metrics),
  };
}

function metricsOf(metrics: Metrics) {
  const { sandbox, activity, processes } = metrics.read();
  const { lastActiveAt, jobs: _, networkBytes: __, ...counts } = activity;
  const { memoryBytes, memoryLimitBytes, ...rest } = sandbox;
  const limit = memoryLimitBytes === undefined ? {} : { memoryLimitBytes: BigInt(memoryLimitBytes) };
  return {
    sandbox: { ...rest, memoryBytes: BigInt(memoryBytes), ...limit },
    activity: { ...counts, lastActiveAt: timestampFromDate(lastActiveAt) },
    processes: processes.map((one) => ({ ...one, rssBytes: BigInt(one.rssBytes) })),
  };
}

async function startDetached(
  { root, processes }: ProcessesServiceOptions,
  request: StartDetachedRequest,
  { requestHeader }: HandlerContext,
) {
  const command = await commandOf(root, request.config, requestHeader);
  const timeoutMs = request.timeoutMs === undefined ? undefined : Number(request.timeoutMs);
  const { name, stdin, lossless, requestId } = request;
  const more = { detached: true, lossless, requestId, size: sizeOf(request.pty), name, stdin, timeoutMs };
  const entry = await coded(processes.start(command, more));
  return { processId: entry.running.pid };
}

type AttachFrom = Pick<AttachRequest, "processId" | "offset" | "noFollow" | "requestId">;

async function* attach(processes: Processes, request: AttachFrom, { signal }: HandlerContext) {
  const entry = findProcess(processes, request.processId);
  if (request.requestId !== "" && entry.requestId !== request.requestId) {
    throw new ConnectError(`Cannot find process ${request.processId} of that request: there is another`, Code.NotFound);
  }
  const log = logOf(entry);
  const offset = Number(request.offset);
  if (offset > log.size()) {
    const size = `${log.size()} bytes so far`;
    throw new ConnectError(
      `Cannot read process ${request.processId} from ${offset}: it wrote ${size}`,
      Code.OutOfRange,
    );
  }
  log.acknowledge(offset);
  const detach = processes.attach(entry);
  try {
    for await (const read of log.read(offset, { follow: !request.noFollow, signal })) {
      if ("piece" in read) yield { event: { case: "output" as const, value: outputOf(read.piece) } };
      else yield { event: { case: "truncated" as const, value: { beforeOffset: BigInt(read.beforeOffset) } } };
    }
    throwIfBrokenOff(signal);
    const end = request.noFollow ? entry.end : await entry.ended;
    if (end) yield { event: { case: "end" as const, value: endOf(end) } };
  } finally {
    detach();
  }
}

function logOf({ log, running }: Process) {
  if (log) return log;
  const why = "it was not started detached, and its output goes to the client that started it";
  throw new ConnectError(`Cannot attach to process ${running.pid}: ${why}`, Code.FailedPrecondition);
}

function outputOf({ offset, stream, bytes }: { offset: number; stream: "stdout" | "stderr"; bytes: Uint8Array }) {
  return { offset: BigInt(offset), data: { case: stream, value: bytes } };
}

function jobOf(entry: ProcessEntry) {
  const { pid, name, cpuSeconds, rssBytes } = entry;
  const command = readCommand(pid);
  return {
    processId: pid,
    command: command.length > 0 ? command : [name],
    startedAt: timestampFromDate(startOf(entry)),
    cpuSeconds,
    rssBytes: BigInt(rssBytes),
  };
}

function infoOf(entry: Process) {
  const { running, command, log, end } = entry;
  return {
    processId: running.pid,
    command: command.argv,
    cwd: command.cwd,
    terminal: "resize" in running,
    detached: log !== undefined,
    startedAt: timestampFromDate(entry.startedAt),
    ...end && { end: endOf(end) },
    outputBytes: BigInt(log?.size() ?? 0),
    name: entry.name,
    attached: entry.attached,
    requestId: entry.requestId,
  };
}

function endOf({ exitCode, signal, timedOut, at }: ProcessEnd) {
  return { exitCode, signal: signal ?? "", timedOut, endedAt: timestampFromDate(at) };
}

/**
 * Returns a function that calls `act` for the first request of an id, and returns its result for later requests of that
 * id. An id is forgotten if its `act` fails, or if there are more than `most` newer ids.
 */
function createOnce<T>(most: number): (id: string, act: () => Promise<T>) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (id, act) => {
    const before = known.get(id);
    if (id === "" || before) return before ?? act();
    const acting = act();
    known.set(id, acting);
    acting.catch(() => known.delete(id));
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    return acting;
  };
}
