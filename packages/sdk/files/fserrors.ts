/** Sets Node's error codes on errors of the SDK. @module */
import { type ErrorCode, SandboxError } from "../errors.ts";

/** Error codes of `sandbox.fs`. */
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
 * An error of `sandbox.fs`. It has the same class as the error that `sandbox.files` throws. Its `code` is Node's, so
 * that `error.code === "ENOENT"` works as with `node:fs`.
 */
export interface FSError extends Omit<SandboxError, "code"> {
  code: FSCode;
  /** The value that {@link SandboxError.code} has in errors of `sandbox.files`. */
  errorCode: ErrorCode;
  /** Name of the system call that Node would report. */
  syscall: string;
  /** The path as the caller wrote it. */
  path: string;
}

const BY_CODE: Record<ErrorCode, FSCode> = {
  INVALID_ARGUMENT: "EINVAL",
  NOT_FOUND: "ENOENT",
  CONFLICT: "EEXIST",
  UNAUTHENTICATED: "EACCES",
  PERMISSION_DENIED: "EACCES",
  QUOTA_EXCEEDED: "ENOSPC",
  RATE_LIMITED: "EAGAIN",
  NO_SPACE: "ENOSPC",
  TIMEOUT: "ETIMEDOUT",
  FAILED: "EIO",
  COMMAND_FAILED: "EIO",
  UNAVAILABLE: "ECONNRESET",
  UNSUPPORTED: "ENOTSUP",
  INTERNAL: "EIO",
};

/**
 * Ends of messages of the runtime whose error code is less exact than Node's (packages/runtime/files/refused.ts and its
 * callers).
 */
const BY_WORDS: [RegExp, FSCode][] = [
  [/the folder is not empty$/, "ENOTEMPTY"],
  [/(it is a folder|one is a folder, the other is not)$/, "EISDIR"],
  [/(it is not a folder|is not a folder|not a folder is in the way)$/, "ENOTDIR"],
  [/(it is running|it is in use)$/, "EBUSY"],
  [/too long$/, "ENAMETOOLONG"],
  [/too many symlinks$/, "ELOOP"],
];

/** Runs a function. If it throws an error of the SDK, Node's code is set on that error. */
export async function asFS<T>(syscall: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFSError(error, syscall, path);
  }
}

/** Sets Node's code on an error of the SDK, unless it has one. Returns all other errors unchanged. */
export function asFSError(error: unknown, syscall: string, path: string): unknown {
  if (!(error instanceof SandboxError) || "errorCode" in error) return error;
  return withCode(
    error,
    BY_WORDS.find(([words]) => words.test(error.message))?.[1] ?? BY_CODE[error.code],
    syscall,
    path,
  );
}

/** Sets this code on an error. */
export function withCode(error: SandboxError, code: FSCode, syscall: string, path: string): SandboxError {
  const more = { code, errorCode: error.code, syscall, path };
  for (const [name, value] of Object.entries(more)) Object.defineProperty(error, name, { value, enumerable: true });
  return error;
}
