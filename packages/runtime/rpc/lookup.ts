/**
 * Finds the command, folder or process that a request names, and converts errors of the runtime to Connect codes.
 * @module
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { readTraceparent } from "../../api/tracecontext.ts";
import type { ProcessConfig, PTY } from "../../runtime-api/gen/process/v1/process_pb.ts";
import type { Root } from "../confine.ts";
import { DeadContextError } from "../contexts/contexts.ts";
import { type RefusalCode, refusedFor } from "../files/refused.ts";
import { type Command, SpawnError, type SpawnErrorCode } from "../processes/command.ts";
import type { Process, Processes } from "../processes/processes.ts";
import type { TerminalSize } from "../processes/terminal.ts";

/** Reads a command. Without a folder, it runs in the working directory. @param headers of the request @throws {ConnectError} */
export async function commandOf(root: Root, config: ProcessConfig | undefined, headers: Headers): Promise<Command> {
  if (!config?.command[0]) throw new ConnectError("Cannot start a process: the command is empty", Code.InvalidArgument);
  const env = { ...traceEnvironment(headers), ...config.envVars };
  return { argv: config.command, cwd: await folderOf(root, config.cwd), env };
}

/**
 * Returns the environment variables that pass the caller's trace on to a command. A trace that is not sampled is not
 * passed on: a router creates one for each request, and spans of the command would not be recorded either. Source:
 * OpenTelemetry, environment variables as context propagation carriers.
 */
export function traceEnvironment(headers: Headers): Record<string, string> {
  const traceparent = headers.get("traceparent") ?? "";
  if (!readTraceparent(traceparent)?.isSampled) return {};
  const tracestate = headers.get("tracestate");
  return { TRACEPARENT: traceparent, ...(tracestate === null ? {} : { TRACESTATE: tracestate }) };
}

/** Returns the absolute path of a folder. @throws {ConnectError} that names the folder */
export async function folderOf(root: Root, cwd: string | undefined): Promise<string> {
  if (!cwd) return root.workdir;
  try {
    return await root.resolve(cwd);
  } catch (error) {
    if (refusedFor(error, cwd)?.code !== "NOT_FOUND") throw codedError(error, cwd);
    throw new ConnectError(`Cannot start: there is not a folder ${JSON.stringify(cwd)}`, Code.NotFound);
  }
}

/** Reads the terminal size. Undefined: no terminal. */
export function sizeOf(pty: PTY | undefined): TerminalSize | undefined {
  return pty && { cols: pty.cols, rows: pty.rows };
}

/** Finds a process that runs or has ended. @throws {ConnectError} */
export function findProcess(processes: Processes, pid: number): Process {
  const found = processes.get(pid);
  if (!found) throw new ConnectError(`Cannot find process ${pid}: there is none`, Code.NotFound);
  return found;
}

/** Finds a running process. @throws {ConnectError} */
export function findRunning(processes: Processes, pid: number): Process {
  const found = findProcess(processes, pid);
  if (found.end) throw new ConnectError(`Cannot find process ${pid}: it has ended`, Code.NotFound);
  return found;
}

/** Throws if the call was aborted, because its deadline is over or the caller disconnected. @throws {ConnectError} */
export function throwIfBrokenOff(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw signal.reason instanceof ConnectError ? signal.reason : new ConnectError("The caller has left", Code.Canceled);
}

const CODE_OF_SPAWN_ERROR: Record<SpawnErrorCode, Code> = {
  "not-found": Code.NotFound,
  "not-executable": Code.PermissionDenied,
  "bad-cwd": Code.InvalidArgument,
  invalid: Code.InvalidArgument,
  failed: Code.Internal,
};

/** Waits for `work`, and converts its error to a Connect error. @throws {ConnectError} */
export async function coded<T>(work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw codedError(error);
  }
}

const CODE_OF_REFUSAL: Partial<Record<RefusalCode, Code>> = {
  PERMISSION_DENIED: Code.PermissionDenied,
  NOT_FOUND: Code.NotFound,
  INVALID_ARGUMENT: Code.InvalidArgument,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  UNAVAILABLE: Code.Unavailable,
};

/**
 * Returns an error with its Connect code. An error without one is returned unchanged.
 *
 * @param wanted the path in the caller's request
 */
export function codedError(error: unknown, wanted = ""): unknown {
  if (error instanceof SpawnError) return new ConnectError(error.message, CODE_OF_SPAWN_ERROR[error.code]);
  if (error instanceof DeadContextError) return new ConnectError(error.message, Code.FailedPrecondition);
  const refused = refusedFor(error, wanted);
  const code = refused && CODE_OF_REFUSAL[refused.code];
  return refused && code !== undefined ? new ConnectError(refused.message, code) : error;
}
