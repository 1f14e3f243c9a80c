/** Small Python programs that use the published client against the cluster under test, and what they tell. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, onTestFinished } from "vitest";
import type { Loose, Namespace } from "../integration/namespace.ts";
import { clientPython } from "./python.ts";

/** A program that runs. Each line that it prints is a JSON object. */
export interface Program {
  /** What it tells next. @throws {Error} with its traceback if it ends instead */
  next(): Promise<Loose>;
  /** Lets it go on where it waits to be let. */
  goOn(): void;
  /** Waits for its end. @throws {Error} with its traceback if it fails */
  ended(): Promise<void>;
}

const PROGRAMS = fileURLToPath(new URL("programs/", import.meta.url));
const say = (line: string) => process.stdout.write(`clients: ${line}\n`);

/** To be called by each test file: has the client installed, which takes its time on a new machine. */
export function needsClient(): void {
  beforeAll(() => clientPython(say), 900_000);
}

/**
 * Starts `programs/<name>.py` with the namespace and `options` as its arguments. It is ended with the test.
 *
 * The program finds the cluster as any user's does: by KUBECONFIG.
 */
export async function startProgram(ns: Namespace, name: string, options: object = {}): Promise<Program> {
  // Neither other packages of the user nor files written beside the programs.
  const args = ["-E", "-s", "-B", `${PROGRAMS}${name}.py`, ns.name, JSON.stringify(options)];
  // The client forwards a port by the kubectl that it finds.
  const PATH = `${dirname(ns.cluster.kubectl)}:${process.env["PATH"]}`;
  const env = { ...process.env, PATH, KUBECONFIG: ns.cluster.kubeconfig };
  const child = spawn(await clientPython(say), args, { env, stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const errors = { text: "" };
  child.stderr.setEncoding("utf8").on("data", (part) => errors.text += part);
  const ended = endOf(child, name, errors);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ended: () => ended,
    goOn: () => void child.stdin.write("\n"),
    next: async () => {
      const { value, done } = await lines.next();
      if (!done) return JSON.parse(value);
      await ended;
      throw new Error(`${name}.py has ended and tells no more\n${errors.text}`);
    },
  };
}

/** Runs a program to its end. @returns what it told first */
export async function runProgram(ns: Namespace, name: string, options: object = {}): Promise<Loose> {
  const program = await startProgram(ns, name, options);
  const told = await program.next();
  await program.ended();
  return told;
}

function endOf(child: ChildProcess, name: string, errors: { text: string }): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${name}.py ended with ${code ?? signal}\n${errors.text}`));
    });
  });
  // Whoever asks gets the error; a program that is ended with its test has none to tell.
  ended.catch(() => {});
  return ended;
}
