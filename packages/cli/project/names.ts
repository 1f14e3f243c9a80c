/** The names that `hookbox project` accepts. @module */
import { isDNSLabel } from "../../api/objects/names.ts";
import { UsageError } from "../failure.ts";

/** @throws {UsageError} if it cannot be the name of a namespace */
export function checkName(what: string, name: string): void {
  if (isDNSLabel(name)) return;
  throw new UsageError(
    `Cannot use "${name}" as the name of a ${what}: use up to 63 lower-case letters, digits and dashes`,
  );
}

/** @throws {UsageError} if it cannot be a key of a Secret */
export function checkKeyName(name: string): void {
  if (/^[-._a-zA-Z0-9]{1,63}$/.test(name) && !name.startsWith(".")) return;
  throw new UsageError(`Cannot use "${name}" as the name of an API key: use letters, digits, dashes and dots`);
}
