/** Errors of commands, with their messages and exit codes. @module */
import { CommanderError } from "commander";
import { SandboxError } from "../sdk/errors.ts";

/** Exit codes of hookbox itself; commands in a sandbox have their own. */
const EXIT = { failure: 1, usage: 2, timeout: 124, interrupted: 130 } as const;

/** Ends a command with an exit code. The message has already been written. */
export class Ended extends Error {
  override readonly name: string = "Ended";
  readonly code: number;
  constructor(code: number) {
    super(`Ended with ${code}`);
    this.code = code;
  }
}

/** The arguments are invalid: exit code 2. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

/** A failure, and what to do about it. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  /** One sentence; undefined if there is no advice. */
  readonly remedy: string | undefined;
  constructor(message: string, remedy?: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** An error, with what the command has done about it. */
export class HandledError extends Error {
  override readonly name: string = "HandledError";
  /** @param note one sentence */
  constructor(cause: Error, note: string) {
    super(note, { cause });
  }
}

/** The user pressed Ctrl-C, or a signal arrived. */
export class Interruption extends Error {
  override readonly name: string = "Interruption";
  readonly code: number;
  constructor(code: number = EXIT.interrupted) {
    super("Interrupted");
    this.code = code;
  }
}

/** How an error is reported. Without lines, its message has already been written. */
export interface ErrorReport {
  code: number;
  lines: string[];
}

/** Returns the exit code and the message for an error that a command has thrown. */
export function reportOf(error: unknown): ErrorReport {
  if (error instanceof Ended || error instanceof Interruption) return { code: error.code, lines: [] };
  if (error instanceof HandledError) {
    const { code, lines } = reportOf(error.cause);
    // Nothing is left to wait for.
    return { code, lines: [...lines.map((line) => line.replace(/^Wait\. ?/, "")).filter(Boolean), error.message] };
  }
  // Commander has already printed the help or its error.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : EXIT.usage, lines: [] };
  if (error instanceof UsageError || isUsage(error)) return { code: EXIT.usage, lines: [error.message] };
  if (error instanceof SandboxError) {
    const remedy = error.remedy === undefined ? undefined : asOptions(error.remedy);
    return { code: codeOf(error), lines: [withoutTail(error.message, error.remedy), ...linesOf(remedy)] };
  }
  if (error instanceof Failure) return { code: EXIT.failure, lines: [error.message, ...linesOf(error.remedy)] };
  return { code: EXIT.failure, lines: [error instanceof Error ? error.message : String(error)] };
}

/**
 * Lower modules throw a RangeError with such a message for an invalid value. JavaScript's own RangeErrors have other
 * messages.
 */
function isUsage(error: unknown): error is RangeError {
  return error instanceof RangeError && error.message.startsWith("Cannot ");
}

function codeOf({ code }: SandboxError): number {
  if (code === "TIMEOUT") return EXIT.timeout;
  return code === "INVALID_ARGUMENT" ? EXIT.usage : EXIT.failure;
}

/** Removes the remedy from the end of the SDK's message, because it is shown on its own line. */
function withoutTail(message: string, remedy: string | undefined): string {
  return remedy !== undefined && message.endsWith(`. ${remedy}`) ? message.slice(0, -remedy.length - 2) : message;
}

/** Replaces names of the SDK's options by the command's options. */
const WORDS: [RegExp, string][] = [
  [/the option (?=`)/g, ""],
  [/the client a (?=`)/g, ""],
  [/`timeoutMs`/g, "--timeout"],
  [/`idleMs`/g, "--idle"],
  [
    /To wait longer, [^.]*`readyTimeoutMs`\./g,
    "To wait longer, run the command again; create and run have the option --ready-timeout.",
  ],
  [/`readyTimeoutMs`/g, "--ready-timeout"],
  [/`routerUrl`/g, "--router"],
  [/`token`/g, "--token"],
  [/`kubeconfig`/g, "--kubeconfig"],
  [/`signingSecret`/g, "HOOKBOX_SIGNING_SECRET"],
  [/`signingKey`/g, "HOOKBOX_SIGNING_KEY"],
  [
    /Tell the client the router's domain or path prefix: `routerDomain`, `routerPathPrefix`/g,
    "Set HOOKBOX_ROUTER_DOMAIN or HOOKBOX_ROUTER_PATH_PREFIX, as the router has them",
  ],
  [/, or run it in the background/g, ""],
  [/Give it one by `setTimeout`\./g, "Give it one: --from-now 8h"],
  [/Use `setTimeout\(null\)`\./g, "Use --never."],
];

function asOptions(remedy: string): string {
  return WORDS.reduce((text, [sdk, cli]) => text.replaceAll(sdk, cli), remedy);
}

function linesOf(remedy: string | undefined): string[] {
  return remedy === undefined ? [] : [remedy];
}
