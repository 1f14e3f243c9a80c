/**
 * JSON with all its digits. Kubernetes has integers of 64 bits, JavaScript's numbers keep 53: what is read and written back
 * (a hook's answer, a PUT, a conversion) would come back as another number, or be refused. An integer that a number cannot
 * keep is read as a raw value, which `JSON.stringify` writes as it was, and which counts as a scalar. Pure.
 * @module
 */

/** An integer beyond 2^53, as it was written. */
export interface RawInteger {
  readonly rawJSON: string;
}

/** ES2026: what `lib` does not know yet. */
const json = JSON as unknown as {
  rawJSON(text: string): RawInteger;
  isRawJSON(value: unknown): value is RawInteger;
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
};

/** Sixteen digits where a value may begin: few texts have any, and only those are read with care. */
const MAY_BE_LARGE = /[:[,]\s*-?\d{16}|^\s*-?\d{16}/;

/** Whether this process has ever met one: most never do, and need not ask. */
let hasMet = false;

/** Reads JSON text as `JSON.parse` does, but for integers that a number cannot keep. @throws {SyntaxError} if it is none */
export function parseJson(text: string): unknown {
  return MAY_BE_LARGE.test(text) ? json.parse(text, exactly) : JSON.parse(text);
}

/** The same for {@link JSON.parse}'s reviver: what becomes of each value. */
export function exactly(_key: string, value: unknown, { source = "" }: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
  hasMet = true;
  return json.rawJSON(source);
}

/** Copies a JSON value, with all digits. */
export function copyJson<T>(value: T): T {
  return parseJson(JSON.stringify(value)) as T;
}

/** Tells whether a value is an integer that a number cannot keep. */
export function isRawInteger(value: unknown): value is RawInteger {
  return hasMet && json.isRawJSON(value);
}

/** Returns a value with bigints in place of such integers, for what writes those but does not know the others: YAML. */
export function withBigInts(value: unknown): unknown {
  if (!hasMet) return value;
  if (isRawInteger(value)) return BigInt(value.rawJSON);
  if (Array.isArray(value)) return value.map(withBigInts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBigInts(field)]));
}

/**
 * Parses by a schema of zod, to which such an integer would be an object with any fields: where one stands, the schema has to
 * take a number.
 *
 * @throws {ZodError} as the schema does
 */
export function parseExactly<T>(schema: { parse(value: unknown): T }, value: unknown): T {
  if (hasMet) schema.parse(withNumbers(value));
  return schema.parse(value);
}

function withNumbers(value: unknown): unknown {
  if (isRawInteger(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(withNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withNumbers(field)]));
}

/** The other way round, for what was read with bigints: those that a number keeps become numbers. */
export function withoutBigInts(value: unknown): unknown {
  if (typeof value === "bigint") return parseJson(`${value}`);
  if (Array.isArray(value)) return value.map(withoutBigInts);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutBigInts(field)]));
}
