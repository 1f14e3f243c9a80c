/** What goes wrong in a command: what is said of it, and the exit code. Writes nothing. @module */
import { CommanderError } from "commander";
import { SandboxError } from "../sdk/errors.ts";

/** Exit codes beside those of commands that run in a sandbox. */
export const EXIT = { failure: 1, usage: 2, timeout: 124, interrupted: 130 } as const;

/** Ends a command with an exit code; what there is to say has been said. */
export class Ended extends Error {
  override readonly name: string = "Ended";
  readonly code: number;
  constructor(code: number) {
    super(`Ended with ${code}`);
    this.code = code;
  }
}

/** The arguments make no sense: exit code 2. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

/** Something failed, and this is what to do about it. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  /** One sentence; undefined if there is nothing to say. */
  readonly remedy: string | undefined;
  constructor(message: string, remedy?: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Somebody pressed Ctrl-C, or a signal came. */
export class Interruption extends Error {
  override readonly name: string = "Interruption";
  readonly code: number;
  constructor(code: number = EXIT.interrupted) {
    super("Interrupted");
    this.code = code;
  }
}

/** An exit code, and the lines that explain it; none where all is said. */
export interface Verdict {
  code: number;
  lines: string[];
}

/** Judges what a command has thrown. */
export function verdictOf(error: unknown): Verdict {
  if (error instanceof Ended || error instanceof Interruption) return { code: error.code, lines: [] };
  // Commander has printed the help, or its complaint.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : EXIT.usage, lines: [] };
  if (error instanceof UsageError || isUsage(error)) return { code: EXIT.usage, lines: [error.message] };
  if (error instanceof SandboxError) {
    const remedy = error.remedy === undefined ? [] : [asOptions(error.remedy)];
    return { code: codeOf(error), lines: [withoutTail(error.message, error.remedy), ...remedy] };
  }
  if (error instanceof Failure) return { code: EXIT.failure, lines: [error.message, ...linesOf(error.remedy)] };
  return { code: EXIT.failure, lines: [error instanceof Error ? error.message : String(error)] };
}

/** What modules below throw where a value makes no sense; RangeErrors of the language do not begin so. */
function isUsage(error: unknown): error is RangeError {
  return error instanceof RangeError && error.message.startsWith("Cannot ");
}

function codeOf({ code }: SandboxError): number {
  if (code === "TIMEOUT") return EXIT.timeout;
  return code === "INVALID_ARGUMENT" ? EXIT.usage : EXIT.failure;
}

/** The SDK's messages end with the remedy, which has a line of its own here. */
function withoutTail(message: string, remedy: string | undefined): string {
  return remedy !== undefined && message.endsWith(`. ${remedy}`) ? message.slice(0, -remedy.length - 2) : message;
}

/** What the SDK calls its options is an option here as well. */
const WORDS: [RegExp, string][] = [
  [/the option (?=`)/g, ""],
  [/the client a (?=`)/g, ""],
  [/`timeoutMs`/g, "--timeout"],
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
];

function asOptions(remedy: string): string {
  return WORDS.reduce((text, [sdk, cli]) => text.replaceAll(sdk, cli), remedy);
}

function linesOf(remedy: string | undefined): string[] {
  return remedy === undefined ? [] : [remedy];
}
