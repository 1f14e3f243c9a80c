/** Formats objects for the option `-o`. @module */
import { withBigInts } from "../../api/objects/exactjson.ts";
import { UsageError } from "../failure.ts";

/** Values of `-o`; absent means a table. */
export const FORMATS = ["json", "yaml", "name", "wide"] as const;
export type Format = (typeof FORMATS)[number];

/** Parses `-o`. @throws {UsageError} if it is not one of `allowed` */
export function formatOf(text: string | undefined, allowed: readonly Format[] = FORMATS): Format | undefined {
  if (text === undefined) return undefined;
  const format = allowed.find((format) => format === text);
  if (format) return format;
  throw new UsageError(`Cannot print as "${text}": -o takes ${allowed.join(", ")}`);
}

/** Formats a value as JSON or YAML, as kubectl does. */
export async function serialize(value: unknown, format: "json" | "yaml"): Promise<string> {
  if (format === "json") return `${JSON.stringify(value, null, 4)}\n`;
  const { stringify } = await import("yaml");
  return stringify(withBigInts(value), { lineWidth: 0, version: "1.1" });
}
