/** A main.ts as the process that users run, and what it says of itself. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { onTestFinished, vi } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const BIN = `${ROOT}node_modules/.bin/`;

export interface MainProcess {
  child: ChildProcess;
  /** Lines of its log with this message, as far as they have come. */
  said(message: string): Record<string, unknown>[];
  /** What it has written so far: its log, and its standard output. */
  log(): string;
  output(): string;
  /** Sends SIGTERM and returns the exit code; null: it had to be killed by another signal. */
  stop(): Promise<number | null>;
  /** Resolves with the exit code when the process has ended by itself. */
  ended: Promise<number | null>;
}

/**
 * Starts `node` or `deno` on a main.ts of this checkout; it goes with the test.
 *
 * @param message of the log that it has to write before this returns; undefined: none
 * @throws {Error} with its log if it ends before that
 */
export async function startMain(
  runtime: "node" | "deno",
  args: string[],
  message: string | undefined,
): Promise<MainProcess> {
  const env = { ...process.env, NO_COLOR: "1" };
  const child = spawn(BIN + runtime, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [log, output] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (chunk) => log += chunk);
  child.stdout.setEncoding("utf8").on("data", (chunk) => output += chunk);
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const said = (message: string) =>
    log.split("\n").slice(0, -1).filter((line) => line.includes(`"message":"${message}"`)).map((line) =>
      JSON.parse(line)
    );
  const started: MainProcess = {
    child,
    ended,
    said,
    log: () => log,
    output: () => output,
    stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
  if (message === undefined) return started;
  await vi.waitUntil(() => said(message).length > 0 || child.exitCode !== null, { timeout: 120_000, interval: 5 });
  if (said(message).length === 0) throw new Error(`Cannot start ${args.join(" ")}: it ended: ${log}${output}`);
  return started;
}
