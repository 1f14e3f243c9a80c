/** Writes logs: one line of JSON per event, to standard error. Nothing else in hookbox writes logs. @module */

/** The levels, least important first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** The importance of a log line; `debug` is the lowest. */
export type LogLevel = typeof LOG_LEVELS[number];

/** Writes one line: `{"time","level","message",…fields}`. */
export type Log = (level: LogLevel, message: string, fields?: Record<string, unknown>) => void;

/** Interval between log lines about the same failure that continues, in milliseconds. */
export const COMPLAINT_MS = 60_000;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/**
 * Creates a log that drops lines below `lowest`.
 *
 * @param write writes one line, which it gets without the line end; standard error by default
 */
export function createLog(lowest: LogLevel = "info", write: (line: string) => void = writeStandardError): Log {
  return (level, message, fields = {}) => {
    if (RANK[level] < RANK[lowest]) return;
    write(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }));
  };
}

/** Returns the log fields of an error: its message and stack. An answer must never contain them. */
export function errorFields(error: unknown): Record<string, unknown> {
  return error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) };
}

/** Returns why a request failed. Node's fetch only reports "fetch failed", and has the reason in the cause. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

function writeStandardError(line: string): void {
  // deno-lint-ignore no-console -- the one way to standard error that both runtimes have without a permission
  console.error(line);
}
