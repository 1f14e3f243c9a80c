/** Small Python programs that use the published client against the cluster under test, and what they tell. @module */
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, onTestFinished } from "vitest";
import type { Loose, Namespace } from "../integration/namespace.ts";
import { type Fork, type ForkServer, startForkServer } from "./forkserver.ts";
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
/** By kubeconfig: the client reads it once. */
const servers = new Map<string, ForkServer>();

/** To be called by each test file: has the client installed, which takes its time on a new machine. */
export function needsClient(): void {
  beforeAll(() => clientPython(say));
}

/** Starts `programs/<name>.py` with the namespace and `options` as its arguments. It is ended with the test. */
export async function startProgram(
  { name: ns, cluster }: Namespace,
  name: string,
  options: object = {},
): Promise<Program> {
  const python = await clientPython(say);
  const server = servers.get(cluster.kubeconfig) ?? startForkServer(python, cluster);
  servers.set(cluster.kubeconfig, server);
  const program = await server.fork(`${PROGRAMS}${name}.py`, [ns, JSON.stringify(options)]);
  const errors = { text: "" };
  program.stderr.setEncoding("utf8").on("data", (part) => errors.text += part);
  const lines = createInterface({ input: program.stdio })[Symbol.asyncIterator]();
  const ended = endOf(program, name, errors);
  // Callers of `ended` get the error; if a program is ended with its test, there is no caller.
  ended.catch(() => {});
  onTestFinished(program.kill);
  return {
    ended: () => ended,
    goOn: () => void program.stdio.write("\n"),
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

async function endOf({ code, stderr }: Fork, name: string, errors: { text: string }): Promise<void> {
  const [ended] = await Promise.all([code, once(stderr, "close")]);
  if (ended !== 0) throw new Error(`${name}.py ended with ${ended}\n${errors.text}`);
}
