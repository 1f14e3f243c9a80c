/**
 * `POST /execute`: validates the body as FastAPI does, splits the command line, runs it without a shell and creates the
 * response.
 * @module
 */
import type { Root } from "../confine.ts";
import type { Command } from "../processes/command.ts";
import type { Finished, RunLimits } from "../processes/run.ts";

/** Runs a command until its end: `run` of `processes/run.ts`, or a function that extends it. */
type Runner = (command: Command, limits: RunLimits) => Promise<Finished>;

/** How commands are run. */
export interface ExecuteOptions {
  /** Commands run in its working directory. */
  root: Root;
  run: Runner;
  /** Time limit in milliseconds if the request has none. */
  execTimeout: number;
  /** Largest number of bytes kept of stdout and of stderr. */
  maxOutput: number;
  /** Kills running commands when it aborts. */
  kill: AbortSignal;
}

/** A parsed request; the time limit is in seconds. */
interface ExecuteRequest {
  command: string;
  timeout_seconds: number | undefined;
}

/** The response. `timed_out` and `truncated` are present only if they are true. */
interface ExecuteAnswer {
  stdout: string;
  stderr: string;
  exit_code: number;
  timed_out?: true;
  truncated?: true;
}

/** Beginning of the published runtime's own messages. */
const FAILED = "Failed to execute command: ";

/**
 * Runs the command. As in the published runtime, errors are part of the response: exit code 1 and a message.
 *
 * @param onPassed called when a process has the text of the command, and the runtime needs no memory for it any more
 */
export function execute(
  { command, timeout_seconds }: ExecuteRequest,
  { root, run, maxOutput, kill, execTimeout }: ExecuteOptions,
  onPassed: () => void,
): Promise<ExecuteAnswer> {
  const timeoutMs = timeout_seconds === undefined ? execTimeout : timeout_seconds * 1000;
  const limits: RunLimits = {
    timeoutMs,
    outputBytes: maxOutput,
    signal: kill,
    onStart: ({ passed }) => void passed.then(onPassed),
  };
  // Not async: a function that waits keeps its arguments in memory.
  return begin(command, root.workdir, run, limits).then(
    (finished) => answerOf(finished, timeoutMs),
    (error) => ({ stdout: "", stderr: FAILED + (error instanceof Error ? error.message : error), exit_code: 1 }),
  );
}

function begin(command: string, cwd: string, run: Runner, limits: RunLimits): Promise<Finished> {
  try {
    return run({ argv: splitCommand(command), cwd, env: {} }, limits);
  } catch (error) {
    return Promise.reject(error);
  }
}

function answerOf(finished: Finished, timeoutMs: number): ExecuteAnswer {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const [stdout, stderr] = [decoder.decode(finished.stdout), decoder.decode(finished.stderr)];
  const cut = finished.truncated ? { truncated: true } as const : {};
  if (!finished.timedOut) return { stdout, stderr, exit_code: finished.exitCode, ...cut };
  const message = `${FAILED}timed out after ${timeoutMs / 1000} seconds`;
  return { stdout, stderr: stderr ? `${message}\n${stderr}` : message, exit_code: 1, timed_out: true, ...cut };
}

/** The command line ends inside quotes or after a backslash. The messages are Python's. */
export class SplitError extends Error {
  override name = "SplitError";
}

/** What ends a run of ordinary characters: outside of quotes, and inside of them. */
const SPECIAL = { none: /[ \t\r\n'"\\]/g, "'": /'/g, '"': /["\\]/g };

/** Linux passes at most 6 MiB of arguments, and counts at least nine bytes for each. */
const MOST_WORDS = 700_000;

/**
 * Splits `line`. Quotes group words, and `\` escapes the next character: in double quotes only `"` and `\`, in single
 * quotes nothing. `#`, `$`, `|`, `*` and similar characters have no special meaning. It needs memory for the words, and
 * little more: the parts of a word are slices of `line`.
 *
 * @throws {SplitError}
 */
export function splitCommand(line: string): string[] {
  const words: string[] = [];
  let word: Parts | undefined;
  let quote: keyof typeof SPECIAL = "none";
  const endWord = () => {
    if (word !== undefined) words.push(ownText(word.join(), line.length));
    if (words.length > MOST_WORDS) throw new SplitError("More words than the system can pass");
    word = undefined;
  };
  for (let at = 0; at < line.length;) {
    const special: RegExp = SPECIAL[quote];
    special.lastIndex = at;
    const end: number = special.exec(line)?.index ?? line.length;
    if (end > at) (word ??= createParts()).add(line.slice(at, end));
    at = end + 1;
    const character: string | undefined = line[end];
    if (character === undefined) break;
    if (character === "\\") {
      const next = line[at++];
      if (next === undefined) throw new SplitError("No escaped character");
      const isLiteral = quote === '"' && next !== quote && next !== "\\";
      (word ??= createParts()).add(isLiteral ? line.slice(end, at) : next);
    } else if (character === quote) quote = "none";
    else if (character === "'" || character === '"') {
      quote = character;
      word ??= createParts();
    } else endWord();
  }
  if (quote !== "none") throw new SplitError("No closing quotation");
  endWord();
  return words;
}

/** The parts of a word. */
interface Parts {
  add(part: string): void;
  join(): string;
}

/** Joins parts early: a word can have millions of them. */
function createParts(): Parts {
  const joined: string[] = [];
  let parts: string[] = [];
  return {
    add(part) {
      if (parts.push(part) < 1000) return;
      joined.push(parts.join(""));
      parts = [];
    },
    join: () => [...joined, ...parts].join(""),
  };
}

/** Copies a short part of a long text. In V8 such a part would keep the whole text in memory. */
function ownText(part: string, length: number): string {
  return part.length < length / 2 ? ` ${part}`.slice(1) : part;
}

/** One error in a body. */
interface BodyIssue {
  type: string;
  /** Path of the field, starting with `body`. */
  loc: (string | number)[];
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
}

/** The body of a 422 response. */
interface InvalidBody {
  detail: BodyIssue[];
}

/** Reads the body of `POST /execute`. Unknown fields are ignored. */
export function parseExecute(text: string): ExecuteRequest | InvalidBody {
  if (text.trim() === "") return invalid("missing", ["body"], "Field required", null);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const at = Number(/position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1] ?? 0);
    return {
      detail: [{ ...issue("json_invalid", ["body", at], "JSON decode error", {}), ctx: { error: "Invalid JSON" } }],
    };
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    const message = "Input should be a valid dictionary or object to extract fields from";
    return invalid("model_attributes_type", ["body"], message, body);
  }
  const { command, timeout_seconds } = body as Record<string, unknown>;
  const issues = [...commandIssues(command, body), ...timeoutIssues(timeout_seconds)];
  if (issues.length > 0) return { detail: issues };
  return {
    command: command as string,
    timeout_seconds: timeout_seconds === undefined || timeout_seconds === null ? undefined : Number(timeout_seconds),
  };
}

/** Returns the 422 body for a form without the field. */
export function missingField(name: string): InvalidBody {
  return invalid("missing", ["body", name], "Field required", null);
}

function commandIssues(command: unknown, body: unknown): BodyIssue[] {
  if (command === undefined) return [issue("missing", ["body", "command"], "Field required", body)];
  if (typeof command === "string") return [];
  return [issue("string_type", ["body", "command"], "Input should be a valid string", command)];
}

/** Accepts numbers as text, as pydantic does. */
function timeoutIssues(value: unknown): BodyIssue[] {
  if (value === undefined || value === null) return [];
  const loc = ["body", "timeout_seconds"];
  if (typeof value !== "number" && typeof value !== "string") {
    return [issue("float_type", loc, "Input should be a valid number", value)];
  }
  const seconds = value === "" ? NaN : Number(value);
  if (Number.isNaN(seconds)) {
    return [issue("float_parsing", loc, "Input should be a valid number, unable to parse string as a number", value)];
  }
  if (seconds > 0) return [];
  return [{ ...issue("greater_than", loc, "Input should be greater than 0", value), ctx: { gt: 0 } }];
}

function issue(type: string, loc: (string | number)[], msg: string, input: unknown): BodyIssue {
  return { type, loc, msg, input };
}

function invalid(type: string, loc: (string | number)[], msg: string, input: unknown): InvalidBody {
  return { detail: [issue(type, loc, msg, input)] };
}
