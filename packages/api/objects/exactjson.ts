/**
 * JSON with all its digits. Kubernetes has integers of 64 bits, and JavaScript's numbers keep 53 of them: a value that is read
 * and written back (a hook's answer, a PUT, a conversion) would come back as another number, or be refused. An integer that a
 * number cannot keep is read as a raw value. `JSON.stringify` writes it as it was, and it counts as a scalar. Pure.
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

/** Whether this process has ever read one. Most never do, and skip every check. */
let hasMet = false;

/** Reads JSON text as `JSON.parse` does, except for integers that a number cannot keep. @throws {SyntaxError} if it is not JSON */
export function parseJson(text: string): unknown {
  return MAY_BE_LARGE.test(text) ? json.parse(text, exactly) : JSON.parse(text);
}

/** Keeps all digits of a number, as a reviver of {@link JSON.parse}. */
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

/** Returns a value with a bigint in place of each such integer: YAML libraries write bigints, and do not know raw values. */
export function withBigInts(value: unknown): unknown {
  return hasMet ? mapScalars(value, (scalar) => isRawInteger(scalar) ? BigInt(scalar.rawJSON) : scalar) : value;
}

/** Does the reverse of {@link withBigInts}; a bigint that a number can keep becomes a number. */
export function withoutBigInts(value: unknown): unknown {
  return mapScalars(value, (scalar) => typeof scalar === "bigint" ? parseJson(`${scalar}`) : scalar);
}

/**
 * Parses a value by a zod schema. To zod a raw integer is an object with any fields, so the schema also has to accept a number
 * in its place.
 *
 * @throws {ZodError} as the schema does
 */
export function parseExactly<T>(schema: { parse(value: unknown): T }, value: unknown): T {
  if (hasRawIntegers(value)) {
    schema.parse(mapScalars(value, (scalar) => isRawInteger(scalar) ? Number(scalar.rawJSON) : scalar));
  }
  return schema.parse(value);
}

function hasRawIntegers(value: unknown): boolean {
  if (!hasMet || typeof value !== "object" || value === null) return false;
  return isRawInteger(value) || Object.values(value).some(hasRawIntegers);
}

function mapScalars(value: unknown, map: (scalar: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapScalars(item, map));
  const isScalar = typeof value !== "object" || value === null || value instanceof Date || isRawInteger(value);
  if (isScalar) return map(value);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, mapScalars(field, map)]));
}
