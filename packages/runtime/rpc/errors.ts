/** Converts errors of the runtime to Connect codes; unknown errors are not converted. @module */
import { Code, ConnectError } from "@connectrpc/connect";
import { InvalidPathError, MissingError, OutsideError } from "../confine.ts";
import { DeadContextError } from "../contexts/contexts.ts";
import { SpawnError, type SpawnErrorCode } from "../processes/command.ts";

const OF_SPAWN: Record<SpawnErrorCode, Code> = {
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
  if (error instanceof SpawnError) return OF_SPAWN[error.code];
  if (error instanceof DeadContextError) return Code.FailedPrecondition;
  if (error instanceof OutsideError) return Code.PermissionDenied;
  if (error instanceof MissingError) return Code.NotFound;
  if (error instanceof InvalidPathError) return Code.InvalidArgument;
  return undefined;
}
