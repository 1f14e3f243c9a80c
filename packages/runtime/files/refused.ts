/** Converts errors to the codes and messages that callers get. @module */
import { UnreachableNameError } from "../../process/bytepaths.ts";
import { codeOf, InvalidPathError, MissingError, OutsideError } from "../confine.ts";

/** Codes in `{code, message}`. */
export type RefusalCode =
  | "INVALID_ARGUMENT"
  | "PERMISSION_DENIED"
  | "NOT_FOUND"
  | "CONFLICT"
  | "RESOURCE_EXHAUSTED"
  | "OUT_OF_RANGE"
  | "UNAUTHENTICATED"
  | "UNIMPLEMENTED"
  | "UNAVAILABLE"
  | "INTERNAL";

/** The operation cannot be done, with the code for the caller. */
export class Refused extends Error {
  override name = "Refused";
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

const SYSTEM_ERRORS: Record<string, [RefusalCode, string]> = {
  ENOENT: ["NOT_FOUND", "nothing is there"],
  ENOTDIR: ["NOT_FOUND", "it goes on below something that is not a folder"],
  ELOOP: ["PERMISSION_DENIED", "a symlink is in the way"],
  EACCES: ["PERMISSION_DENIED", "permission denied"],
  EPERM: ["PERMISSION_DENIED", "permission denied"],
  EROFS: ["PERMISSION_DENIED", "the file system is read-only"],
  ETXTBSY: ["CONFLICT", "it is running"],
  EBUSY: ["CONFLICT", "it is in use"],
  EEXIST: ["CONFLICT", "something is there already"],
  ENOTEMPTY: ["CONFLICT", "the folder is not empty"],
  EISDIR: ["INVALID_ARGUMENT", "it is a folder"],
  EINVAL: ["INVALID_ARGUMENT", "the system takes no such name or place"],
  ENAMETOOLONG: ["INVALID_ARGUMENT", "the name is too long"],
  EXDEV: ["INVALID_ARGUMENT", "it would leave its file system"],
  ENOSPC: ["RESOURCE_EXHAUSTED", "the disk is full"],
  EDQUOT: ["RESOURCE_EXHAUSTED", "the disk quota is used up"],
  EFBIG: ["RESOURCE_EXHAUSTED", "the file is too large"],
  EMFILE: ["RESOURCE_EXHAUSTED", "too many files are open"],
  EIO: ["INTERNAL", "the system says input/output error"],
  EAGAIN: ["INTERNAL", "there is nothing to read now"],
};

/**
 * Converts an error for the caller; undefined if it is an internal error.
 *
 * @param wanted the path in the caller's request; the system's message would show an internal path
 */
export function refusedFor(error: unknown, wanted: string): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof OutsideError) return new Refused("PERMISSION_DENIED", error.message);
  if (error instanceof MissingError) return new Refused("NOT_FOUND", error.message);
  if (error instanceof InvalidPathError) return new Refused("INVALID_ARGUMENT", error.message);
  if (error instanceof UnreachableNameError) {
    return new Refused("INVALID_ARGUMENT", `Cannot use "${wanted}": ${error.message}`);
  }
  // Deno's permissions may be narrower than the root.
  if (error instanceof Error && error.name === "NotCapable") {
    return new Refused("PERMISSION_DENIED", `Cannot use "${wanted}": the runtime has no permission`);
  }
  const known = SYSTEM_ERRORS[codeOf(error) ?? ""];
  return known && new Refused(known[0], `Cannot use "${wanted}": ${known[1]}`);
}

/** Returns the system's reason as text, without a path; undefined if it is an internal error. */
export function refusalReason(error: unknown): string | undefined {
  if (error instanceof Refused) return error.message;
  const code = codeOf(error) ?? "";
  return SYSTEM_ERRORS[code]?.[1] ?? (/^E[A-Z0-9]+$/.test(code) ? `the system says ${code}` : undefined);
}
