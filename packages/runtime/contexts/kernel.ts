/** An interpreter in a child process, which runs one piece of code at a time and sends events. @module */
import process from "node:process";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { ON_DENO } from "../../process/ondeno.ts";
import { SpawnError } from "../processes/command.ts";
import { drained } from "../processes/drain.ts";
import { signalGroup } from "../processes/signals.ts";
import { type Running, start } from "../processes/spawn.ts";
import { createEvents, type KernelEvent } from "./events.ts";
import { readLines } from "./lines.ts";

/** Supported languages. */
export const LANGUAGES = ["python", "javascript", "typescript"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A running interpreter. */
export interface Kernel {
  /** Returns false after the interpreter has ended. */
  alive(): boolean;
  /** How the interpreter ended: `exit code 3`, `signal SIGKILL`. Undefined while it runs. */
  end(): string | undefined;
  /**
   * Runs code; the events end with the run. Only one run at a time. A caller that stops reading leaves the code
   * running: `finished` tells when it is over. If the interpreter dies, that is the last event.
   */
  run(code: string): { events: AsyncGenerator<KernelEvent>; finished: Promise<void> };
  /** Interrupts the running code; variables are kept. */
  interrupt(): void;
  /** Kills the interpreter and all processes that it started. @param why part of the error that the running code ends with */
  kill(why?: string): void;
}

const LONGEST_LINE = 64 << 20;
/**
 * The output of the code's child processes is in the pipe before the run ends, so one turn of the event loop is enough.
 */
const QUIET_MS = 1;
/** How long an interpreter may take to exit after its code has called exit, in milliseconds. */
const EXIT_MS = 3000;
/** How long an interpreter may run after its descriptors were closed, in milliseconds. */
const CLOSED_MS = 200;
/** Times after an interrupt at which the interpreter gets a second signal, in milliseconds. */
const WAKE_MS = [50, 500, 5000];

/** Starts an interpreter. @throws {SpawnError} if it does not exist, or ends before it is ready */
export async function startKernel(language: Language, cwd: string, env: Record<string, string>): Promise<Kernel> {
  const child = await start({ argv: argvOf(language), cwd, env }, { extra: 2 });
  const [requests, answers] = child.extra;
  if (!requests || !answers) throw new TypeError(`Cannot talk to process ${child.pid}: it has no further descriptors`);
  const events = createEvents([child.stdout, child.stderr, answers]);
  let busy = false;
  /** `why`: the reason of the coming end, if it is known. `end`: how the interpreter ended, once it has. */
  const fate: { why: string | undefined; end: string | undefined } = { why: undefined, end: undefined };
  const alive = () => fate.end === undefined;
  let onDone = () => {};
  /** `interrupts`: whether the code can receive interrupts. `due`: whether an interrupt is waiting for that. */
  const heeds = { interrupts: false, due: false };
  const interrupt = () => {
    heeds.due = !heeds.interrupts;
    if (!heeds.interrupts) return;
    signalGroup(child.pid, "SIGINT");
    if (language === "python") wake(child.pid, () => alive() && busy);
  };
  const kill = (why?: string) => {
    if (!alive()) return;
    fate.why ??= why;
    child.kill();
  };
  const ready = Promise.withResolvers<void>();
  readLines(answers, LONGEST_LINE, (line) => {
    const event = parse(line);
    if (!event) kill("the code wrote to a descriptor of hookbox");
    else if (event.exiting !== undefined) {
      fate.why = `exit code ${event.exiting}`;
      const timer = setTimeout(kill, EXIT_MS);
      child.ended.then(() => clearTimeout(timer));
    } else if ("ready" in event) ready.resolve();
    else if ("begun" in event) {
      heeds.interrupts = true;
      if (heeds.due) interrupt();
    } else if ("done" in event) {
      busy = false;
      drained([child.stdout, child.stderr], QUIET_MS).then(finishText).then(onDone);
    } else events.push(event as unknown as KernelEvent);
  });
  const finishText = readText(child, events.push);
  requests.on("error", () => {}).resume();
  // If the code has closed a descriptor or has run exec, no more events would ever come.
  for (const stream of [requests, answers]) {
    // A normal end closes the descriptors, too. The exit code then says more, so the interpreter gets some time to exit.
    stream.once("close", () => setTimeout(kill, CLOSED_MS, "the code closed a descriptor of hookbox, or ran exec"));
  }
  child.ended.then(async ({ exitCode, signal }) => {
    const why = fate.end = fate.why ?? (signal ? `signal ${signal}` : `exit code ${exitCode}`);
    ready.reject(new SpawnError("failed", `Cannot start ${language}: it ended (${why})`));
    await drained([child.stdout, child.stderr, answers], QUIET_MS);
    finishText();
    events.push({ error: { name: "KernelDied", value: `The interpreter ended (${why})`, traceback: "" } });
    onDone();
  });
  await ready.promise;
  return {
    alive,
    end: () => fate.end,
    run: (code) => {
      const finished = new Promise<void>((resolve) => onDone = resolve);
      Object.assign(heeds, { interrupts: language !== "python", due: false });
      busy = alive();
      if (!busy) onDone();
      else send(requests, { code, typescript: language === "typescript" });
      return { events: events.read(finished), finished };
    },
    interrupt: () => {
      if (!alive()) return;
      interrupt();
      if (language !== "python") send(requests, { interrupt: true });
    },
    kill,
  };
}

/**
 * Makes Python handle an interrupt. Python handles signals between two steps of its code. If the signal arrives after
 * the last step before a blocking call, Python handles it only when the call returns. A second signal, which has no
 * effect itself, makes the call return.
 */
async function wake(pid: number, running: () => boolean): Promise<void> {
  for (const ms of WAKE_MS) {
    await delay(ms, undefined, { ref: false });
    if (!running()) return;
    signalGroup(pid, "SIGURG");
  }
}

/** These files are next to this file, and next to the bundle that contains this file. */
const KERNELS = { python: "kernel.py", node: "kernel.mjs" };

function argvOf(language: Language): string[] {
  const kernel = (name: keyof typeof KERNELS) => fileURLToPath(new URL(KERNELS[name], import.meta.url));
  if (language === "python") return ["python3", kernel("python")];
  const node = ON_DENO ? "node" : process.execPath;
  // Code that is interrupted inside Node's own code leaves async ids on Node's stack. A check of that stack would end
  // the process.
  const flags = ["--disable-warning=ExperimentalWarning", "--no-force-async-hooks-checks"];
  return [node, ...flags, kernel("node")];
}

function send(requests: Duplex, request: object): void {
  requests.write(`${JSON.stringify(request)}\n`);
}

const text = z.string().optional();
const saidSchema = z.looseObject({ stdout: text, stderr: text, exiting: z.number().nullish() });

/**
 * Returns undefined if the line is not valid JSON of the protocol: then the code has written to the descriptor, and
 * later lines cannot be trusted.
 */
function parse(line: string): z.infer<typeof saidSchema> | undefined {
  try {
    return saidSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/**
 * Reads output that does not use the protocol: output of child processes and of C libraries. Call the returned function at
 * the end of a run: it sends the first bytes of an incomplete character.
 */
function readText({ stdout, stderr }: Running, push: (event: KernelEvent) => void): () => void {
  const [out, err] = [0, 1].map(() => new TextDecoder("utf-8", { ignoreBOM: true })) as [TextDecoder, TextDecoder];
  stdout.on("data", (bytes) => push({ stdout: out.decode(bytes, { stream: true }) }));
  stderr.on("data", (bytes) => push({ stderr: err.decode(bytes, { stream: true }) }));
  return () => {
    push({ stdout: out.decode() });
    push({ stderr: err.decode() });
  };
}
