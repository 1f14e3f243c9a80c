/**
 * Finds the command, folder or process that a request names, and converts errors of the runtime to Connect codes.
 * @module
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { readTraceparent } from "../../api/tracecontext.ts";
import type { ProcessConfig, PTY } from "../../runtime-api/gen/process/v1/process_pb.ts";
import { InvalidPathError, MissingError, OutsideError, type Root } from "../confine.ts";
import { DeadContextError } from "../contexts/contexts.ts";
import { type Command, SpawnError, type SpawnErrorCode } from "../processes/command.ts";
import type { Process, Processes } from "../processes/processes.ts";
import type { TerminalSize } from "../processes/terminal.ts";

/** Reads a command. Without a folder, it runs in the root. @param headers of the request @throws {ConnectError} */
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
function traceEnvironment(headers: Headers): Record<string, string> {
  const traceparent = headers.get("traceparent") ?? "";
  if (!readTraceparent(traceparent)?.isSampled) return {};
  const tracestate = headers.get("tracestate");
  return { TRACEPARENT: traceparent, ...(tracestate === null ? {} : { TRACESTATE: tracestate }) };
}

/** Returns the absolute path of a folder inside the root. @throws {ConnectError} that names the folder */
export async function folderOf(root: Root, cwd: string | undefined): Promise<string> {
  if (!cwd) return root.path;
  try {
    return await coded(root.resolve(cwd));
  } catch (error) {
    if (!(error instanceof ConnectError) || error.code !== Code.NotFound) throw error;
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

/** Returns an error with its Connect code. An error without one is returned unchanged. */
export function codedError(error: unknown): unknown {
  const code = codeFor(error);
  return code === undefined || !(error instanceof Error) ? error : new ConnectError(error.message, code);
}

function codeFor(error: unknown): Code | undefined {
  if (error instanceof SpawnError) return CODE_OF_SPAWN_ERROR[error.code];
  if (error instanceof DeadContextError) return Code.FailedPrecondition;
  if (error instanceof OutsideError) return Code.PermissionDenied;
  if (error instanceof MissingError) return Code.NotFound;
  if (error instanceof InvalidPathError) return Code.InvalidArgument;
  return undefined;
}
