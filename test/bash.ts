/** Has bash run what a document says, as its reader would type it. @module */
import { spawn } from "node:child_process";
import process from "node:process";
import { PATIENCE_MS } from "./patience.ts";

/** A bash that runs. */
export interface Bash {
  /** Both outputs so far, as on a screen. */
  output(): string;
  /** Its exit code; -1: a signal has ended it. Rejects if it cannot be started. */
  ended: Promise<number>;
  /** Ends it, and whatever it has started. */
  stop(): void;
}

/** A run that is interrupted ends without those who wait for them. */
const running = new Set<() => void>();
process.once("exit", () => running.forEach((stop) => stop()));

/** Runs a text; bash ends at the first command that fails. */
export function startBash(text: string, cwd: string, env: Record<string, string | undefined>): Bash {
  const child = spawn("bash", ["-euo", "pipefail", "-c", `exec 2>&1\n${text}`], {
    ...{ cwd, env },
    stdio: ["ignore", "pipe", "inherit"],
    // A signal to its group reaches whatever it has started.
    detached: true,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (part) => output += part);
  const stop = () => {
    if (child.pid !== undefined && running.has(stop)) process.kill(-child.pid, "SIGTERM");
  };
  running.add(stop);
  const ended = new Promise<number>((resolve, reject) => {
    child.once("exit", () => running.delete(stop));
    child.once("error", reject).once("close", (code) => resolve(code ?? -1));
  });
  return { output: () => output, ended, stop };
}

/** What came of commands. */
export interface Typed {
  code: number;
  /** Both outputs, as on a screen. */
  output: string;
}

/** Runs a text to its end. Waits of kubectl in it take as long as a busy machine needs. */
export async function typed(text: string, cwd: string, env: Record<string, string | undefined>): Promise<Typed> {
  const patient = text.replaceAll(/--timeout=\d+s/g, `--timeout=${PATIENCE_MS / 1000}s`);
  const { output, ended, stop } = startBash(patient, cwd, env);
  // Later than kubectl, which says what it has waited for.
  const late = setTimeout(stop, PATIENCE_MS + 60_000);
  const code = await ended;
  clearTimeout(late);
  return { code, output: output() };
}
