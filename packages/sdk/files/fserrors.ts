/** Errors as `node:fs` names them, on errors of ours. Pure. @module */
import { type ErrorCode, SandboxError } from "../errors.ts";

/** Codes of `sandbox.fs`. */
export type FSCode =
  | "ENOENT"
  | "EEXIST"
  | "EISDIR"
  | "ENOTDIR"
  | "ENOTEMPTY"
  | "EACCES"
  | "EBUSY"
  | "EINVAL"
  | "ELOOP"
  | "ENAMETOOLONG"
  | "ENOSPC"
  | "EAGAIN"
  | "ECONNRESET"
  | "ETIMEDOUT"
  | "ENOTSUP"
  | "EIO";

/**
 * An error of `sandbox.fs`: a {@link SandboxError} of the same class as `sandbox.files` throws, whose `code` is Node's, so
 * that `error.code === "ENOENT"` means what it does with `node:fs`.
 */
export interface FSError extends Omit<SandboxError, "code"> {
  code: FSCode;
  /** What {@link SandboxError.code} would be. */
  errorCode: ErrorCode;
  /** Name of the function that failed. */
  syscall: string;
  /** The path as it was given. */
  path: string;
}

const BY_CODE: Record<ErrorCode, FSCode> = {
  INVALID_ARGUMENT: "EINVAL",
  NOT_FOUND: "ENOENT",
  CONFLICT: "EEXIST",
  UNAUTHENTICATED: "EACCES",
  PERMISSION_DENIED: "EACCES",
  RATE_LIMITED: "EAGAIN",
  NO_SPACE: "ENOSPC",
  TIMEOUT: "ETIMEDOUT",
  FAILED: "EIO",
  COMMAND_FAILED: "EIO",
  UNAVAILABLE: "ECONNRESET",
  UNSUPPORTED: "ENOTSUP",
  INTERNAL: "EIO",
};

/** What the runtime says where its code says less than Node's (packages/runtime/files/refused.ts and its callers). */
const BY_WORDS: [RegExp, FSCode][] = [
  [/the folder is not empty$/, "ENOTEMPTY"],
  [/(it is a folder|one is a folder, the other is not)$/, "EISDIR"],
  [/(it is not a folder|is not a folder|not a folder is in the way)$/, "ENOTDIR"],
  [/(it is running|it is in use)$/, "EBUSY"],
  [/too long$/, "ENAMETOOLONG"],
  [/too many symlinks$/, "ELOOP"],
];

/** Awaits what a function does, and gives an error of ours Node's code; other errors stay as they are. */
export async function asFS<T>(syscall: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFSError(error, syscall, path);
  }
}

/** Gives an error of ours Node's code, unless it has one. */
export function asFSError(error: unknown, syscall: string, path: string): unknown {
  if (!(error instanceof SandboxError) || "errorCode" in error) return error;
  return withCode(
    error,
    BY_WORDS.find(([words]) => words.test(error.message))?.[1] ?? BY_CODE[error.code],
    syscall,
    path,
  );
}

/** Gives an error this code. */
export function withCode(error: SandboxError, code: FSCode, syscall: string, path: string): SandboxError {
  const more = { code, errorCode: error.code, syscall, path };
  for (const [name, value] of Object.entries(more)) Object.defineProperty(error, name, { value, enumerable: true });
  return error;
}
