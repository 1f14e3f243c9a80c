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

/** Runs the command. As in the published runtime, errors are part of the response: exit code 1 and a message. */
export async function execute(request: ExecuteRequest, options: ExecuteOptions): Promise<ExecuteAnswer> {
  const { root, run, maxOutput, kill } = options;
  const timeoutMs = request.timeout_seconds === undefined ? options.execTimeout : request.timeout_seconds * 1000;
  try {
    const argv = splitCommand(request.command);
    const finished = await run({ argv, cwd: root.workdir, env: {} }, {
      timeoutMs,
      outputBytes: maxOutput,
      signal: kill,
    });
    return answerOf(finished, timeoutMs);
  } catch (error) {
    return { stdout: "", stderr: FAILED + (error instanceof Error ? error.message : String(error)), exit_code: 1 };
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

const WHITESPACE = " \t\r\n";

/**
 * Splits `line`. Quotes group words, and `\` escapes the next character: in double quotes only `"` and `\`, in single
 * quotes nothing. `#`, `$`, `|`, `*` and similar characters have no special meaning.
 *
 * @throws {SplitError}
 */
export function splitCommand(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  const characters = [...line];
  for (let i = 0; i < characters.length; i++) {
    let character = characters[i] as string;
    if (quote === undefined && WHITESPACE.includes(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    word ??= "";
    if (character === quote) quote = undefined;
    else if (quote === undefined && (character === "'" || character === '"')) quote = character;
    else {
      if (character === "\\" && quote !== "'") {
        const next: string | undefined = characters[++i];
        if (next === undefined) throw new SplitError("No escaped character");
        character = quote !== undefined && next !== quote && next !== "\\" ? `\\${next}` : next;
      }
      word += character;
    }
  }
  if (quote !== undefined) throw new SplitError("No closing quotation");
  if (word !== undefined) words.push(word);
  return words;
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
