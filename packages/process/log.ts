/** One JSON line per event, to standard error; nothing else in hookbox writes logs. @module */

/** From which level on there may be lines. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** How much a line of the log matters; `debug` least. */
export type LogLevel = typeof LOG_LEVELS[number];

/** Writes one line: `{"time","level","message",…fields}`. */
export type Log = (level: LogLevel, message: string, fields?: Record<string, unknown>) => void;

/** What goes on failing is complained of so often, in milliseconds: what does not answer, or takes nothing. */
export const COMPLAINT_MS = 60_000;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/**
 * Makes a log that drops lines below `lowest`.
 *
 * @param write takes one line without its newline; standard error by default
 */
export function createLog(lowest: LogLevel = "info", write: (line: string) => void = writeStandardError): Log {
  return (level, message, fields = {}) => {
    if (RANK[level] < RANK[lowest]) return;
    write(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }));
  };
}

/** Describes an error for the log: its message and stack, which an answer must never carry. */
export function errorFields(error: unknown): Record<string, unknown> {
  return error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) };
}

/** Says why a request failed: the fetch of Node says "fetch failed", and why in the cause. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

function writeStandardError(line: string): void {
  // deno-lint-ignore no-console -- the one way to standard error that both runtimes have without a permission
  console.error(line);
}
