/** An interpreter in a child process, which runs one piece of code at a time and sends events. @module */
import { Buffer } from "node:buffer";
import process from "node:process";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import { ON_DENO } from "../../process/runprocess.ts";
import { composeEnvironment, findExecutable, SpawnError } from "../processes/command.ts";
import { signalGroup } from "../processes/killall.ts";
import { drained } from "../processes/output.ts";
import type { Direction } from "../processes/pipes.ts";
import { type Running, start } from "../processes/spawn.ts";
import { createKernelEvents, type KernelEvent } from "./events.ts";

/** Supported languages. */
export const LANGUAGES = ["python", "javascript", "typescript", "bash", "r", "java"] as const;
export type Language = (typeof LANGUAGES)[number];

/** How an interpreter is started and spoken to. */
interface Driver {
  argv: string[];
  /** The program that shows whether the language is installed. @default the first of `argv` */
  needs?: string;
  /** Descriptors for requests and events. @default {2} sockets */
  descriptors?: Direction[];
  /** The message that makes it run code, with variables for this run. */
  request(code: string, env: Record<string, string>): string;
  /** Whether it reports when code begins: until then, the signal of an interrupt would be lost. */
  reportsBegin: boolean;
  /** The message that interrupts code, in addition to a signal. */
  interrupt?: string;
  /** A signal that makes a blocking call return. For Python, one without an effect of its own. */
  secondSignal?: NodeJS.Signals;
}

/** A running interpreter. */
export interface Kernel {
  pid: number;
  /** Returns false after the interpreter has ended. */
  alive(): boolean;
  /** How the interpreter ended: `exit code 3`, `signal SIGKILL`. Undefined while it runs. */
  end(): string | undefined;
  /**
   * Runs code; the events end with the run. Only one run at a time. A caller that stops reading leaves the code
   * running: `finished` resolves when it is over. If the interpreter dies, that is the last event.
   *
   * @param env variables for this run only. @default none
   */
  run(code: string, env?: Record<string, string>): { events: AsyncGenerator<KernelEvent>; finished: Promise<void> };
  /** Interrupts the running code; variables are kept. */
  interrupt(): void;
  /**
   * Kills the interpreter and all processes that it started.
   *
   * @param why part of the error that the running code ends with
   */
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
const SECOND_SIGNAL_MS = [50, 500, 5000];

/** Starts an interpreter. @throws {SpawnError} if it does not exist, or ends before it is ready */
export async function startKernel(language: Language, cwd: string, env: Record<string, string>): Promise<Kernel> {
  const driver = driverOf(language);
  await checkInstalled(language, driver, cwd, env);
  const child = await start({ argv: driver.argv, cwd, env }, { extra: driver.descriptors ?? 2 });
  const [requests, answers] = child.extra;
  if (!requests || !answers) throw new TypeError(`Cannot talk to process ${child.pid}: it has no further descriptors`);
  const events = createKernelEvents([child.stdout, child.stderr, answers]);
  let busy = false;
  let runs = 0;
  /** `why`: the reason of the coming end, if it is known. `end`: how the interpreter ended, once it has. */
  const ending: { why: string | undefined; end: string | undefined } = { why: undefined, end: undefined };
  const alive = () => ending.end === undefined;
  let onDone = () => {};
  /** `accepted`: whether the code can receive interrupts. `due`: whether an interrupt is waiting for that. */
  const interrupts = { accepted: false, due: false };
  const interrupt = () => {
    interrupts.due = !interrupts.accepted;
    if (!interrupts.accepted) return;
    signalGroup(child.pid, "SIGINT");
    const { secondSignal } = driver;
    const interrupted = runs;
    if (secondSignal) {
      repeatInterrupt(child.pid, secondSignal, () => alive() && interrupts.accepted && runs === interrupted);
    }
  };
  const kill = (why?: string) => {
    if (!alive()) return;
    ending.why ??= why;
    child.kill();
  };
  const ready = Promise.withResolvers<void>();
  readLines(answers, LONGEST_LINE, (line) => {
    const event = parse(line);
    if (!event) kill("the code wrote to a descriptor of hookbox");
    else if (event.exiting !== undefined) {
      ending.why = `exit code ${event.exiting}`;
      const timer = setTimeout(kill, EXIT_MS);
      child.ended.then(() => clearTimeout(timer));
    } else if ("ready" in event) ready.resolve();
    else if (event.begun !== undefined) {
      interrupts.accepted = event.begun;
      if (interrupts.accepted && interrupts.due) interrupt();
    } else if ("done" in event) {
      busy = false;
      if (driver.reportsBegin) interrupts.accepted = false;
      const { error, results = [] } = event;
      drained([child.stdout, child.stderr], QUIET_MS).then(() => {
        finishText();
        for (const result of results) events.push(result);
        if (error) events.push({ error });
        onDone();
      });
    } else events.push(eventOf(event));
  });
  const finishText = readUnframedText(child, events.push);
  requests.on("error", () => {}).resume();
  // If the code has closed a descriptor or has run exec, no more events would ever come.
  for (const stream of [requests, answers]) {
    // A normal end closes the descriptors, too. The exit code then says more, so the interpreter gets some time to exit.
    stream.once("close", () => setTimeout(kill, CLOSED_MS, "the code closed a descriptor of hookbox, or ran exec"));
  }
  child.ended.then(async ({ exitCode, signal }) => {
    const why = ending.end = ending.why ?? (signal ? `signal ${signal}` : `exit code ${exitCode}`);
    ready.reject(new SpawnError("failed", `Cannot start ${language}: it ended (${why})`));
    await drained([child.stdout, child.stderr, answers], QUIET_MS);
    finishText();
    events.push({ error: { name: "KernelDied", value: `The interpreter ended (${why})`, traceback: "" } });
    onDone();
  });
  await ready.promise;
  return {
    pid: child.pid,
    alive,
    end: () => ending.end,
    run: (code, env = {}) => {
      const finished = new Promise<void>((resolve) => onDone = resolve);
      Object.assign(interrupts, { accepted: !driver.reportsBegin, due: false });
      busy = alive();
      runs++;
      if (!busy) onDone();
      else requests.write(driver.request(code, env));
      return { events: events.read(finished), finished };
    },
    interrupt: () => {
      if (!alive()) return;
      interrupt();
      if (driver.interrupt !== undefined) requests.write(driver.interrupt);
    },
    kill,
  };
}

/** Names of languages in messages. */
const NAMES: Record<Language, string> = {
  python: "Python",
  javascript: "Node",
  typescript: "Node",
  bash: "bash",
  r: "R",
  java: "A JDK",
};

/** @throws {SpawnError} `not-found` if the sandbox has no interpreter for the language */
async function checkInstalled(language: Language, driver: Driver, cwd: string, env: Record<string, string>) {
  const program = driver.needs ?? driver.argv[0] ?? "";
  const path = composeEnvironment({ cwd, env })["PATH"] ?? "";
  try {
    await findExecutable(program, cwd, path);
  } catch (error) {
    if (!(error instanceof SpawnError) || error.code !== "not-found") throw error;
    const why = `${NAMES[language]} is not installed in this sandbox: its PATH has no program "${program}"`;
    throw new SpawnError("not-found", `Cannot run ${language} code: ${why}`);
  }
}

/**
 * Sends a second signal for an interrupt, which may arrive at a bad moment. Python and bash handle a signal between two steps
 * of the code. If it arrives after the last step before a call that blocks, they handle it only when the call returns.
 */
async function repeatInterrupt(pid: number, second: NodeJS.Signals, running: () => boolean): Promise<void> {
  for (const ms of SECOND_SIGNAL_MS) {
    await delay(ms, undefined, { ref: false });
    if (!running()) return;
    signalGroup(pid, second);
  }
}

/** Returns the path of a file that is next to this file, and next to the bundle that contains this file. */
const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const jsonLine = (request: object) => `${JSON.stringify(request)}\n`;

/** Descriptors for requests and events that are opened by name: R and Java cannot use a descriptor of another kind. */
const BY_NAME: Direction[] = ["write", "read"];

function driverOf(language: Language): Driver {
  if (language === "python") {
    const request: Driver["request"] = (code, env) => jsonLine({ code, env });
    return { argv: ["python3", pathOf("kernel.py")], request, reportsBegin: true, secondSignal: "SIGURG" };
  }
  if (language === "bash") {
    // bash itself ignores zero bytes in a script.
    const request: Driver["request"] = (code, env) => {
      const pairs = Object.entries(env).filter(([name]) => /^\w+$/.test(name)).map(([name, value]) =>
        `${name}=${value}`
      );
      return [pairs.length, ...pairs, code].map((piece) => `${String(piece).replaceAll("\0", "")}\0`).join("");
    };
    const argv = ["bash", "--noprofile", "--norc", BASH_KERNEL];
    return { argv, request, reportsBegin: true, secondSignal: "SIGINT" };
  }
  if (language === "r") {
    // A string of JSON is one of R, without zero bytes.
    const quoted = (text: string) => JSON.stringify(Buffer.from(text.replaceAll("\0", "")).toString());
    const request: Driver["request"] = (code, env) => {
      const pairs = Object.entries(env).map(([name, value]) => `${quoted(name)} = ${quoted(value)}`);
      return `list(${[quoted(code), ...pairs].join(", ")})\n`;
    };
    const argv = ["Rscript", pathOf("kernel.r")];
    return { argv, request, reportsBegin: true, interrupt: "NULL\n", secondSignal: "SIGINT", descriptors: BY_NAME };
  }
  if (language === "java") {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const request: Driver["request"] = (code, env) =>
      `${[code, ...Object.entries(env).flat()].map(base64).join(" ")}\n`;
    const argv = ["java", pathOf("kernel.java")];
    // A JRE has java, but no compiler.
    return { argv, needs: "jshell", request, reportsBegin: true, descriptors: BY_NAME };
  }
  const node = ON_DENO ? "node" : process.execPath;
  // Code that is interrupted inside Node's own code leaves async ids on Node's stack. A check of that stack would end
  // the process.
  const flags = ["--disable-warning=ExperimentalWarning", "--no-force-async-hooks-checks"];
  return {
    argv: [node, ...flags, pathOf("kernel.mjs")],
    request: (code, env) => jsonLine({ code, env, typescript: language === "typescript" }),
    reportsBegin: false,
    interrupt: jsonLine({ interrupt: true }),
  };
}

const text = z.string().optional();
const errorSchema = z.object({ name: z.string(), value: z.string(), traceback: z.string() });
const lineSchema = z.looseObject({
  stdout: text,
  stderr: text,
  error: errorSchema.nullish(),
  flushed: z.literal(true).optional(),
  begun: z.boolean().optional(),
  exiting: z.number().nullish(),
  results: z.array(z.object({ result: z.record(z.string(), z.unknown()), main: z.boolean() })).optional(),
});

/**
 * Returns undefined if the line is not valid JSON of the protocol: then the code has written to the descriptor, and
 * later lines cannot be trusted.
 */
function parse(line: string): z.infer<typeof lineSchema> | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

function eventOf({ flushed, ...event }: z.infer<typeof lineSchema>): KernelEvent {
  const { stdout, stderr } = event;
  return { ...event, ...flushed ? { ends: [(stdout ?? stderr ?? "").length] } : {} } as unknown as KernelEvent;
}

/**
 * Reads output that does not use the protocol: output of child processes and of C libraries. Call the returned function at
 * the end of a run: it sends the first bytes of an incomplete character.
 */
function readUnframedText({ stdout, stderr }: Running, push: (event: KernelEvent) => void): () => void {
  const [out, err] = [0, 1].map(() => new TextDecoder("utf-8", { ignoreBOM: true })) as [TextDecoder, TextDecoder];
  stdout.on("data", (bytes) => push({ stdout: out.decode(bytes, { stream: true }) }));
  stderr.on("data", (bytes) => push({ stderr: ofBash(err.decode(bytes, { stream: true })) }));
  return () => {
    push({ stdout: out.decode() });
    push({ stderr: err.decode() });
  };
}

const BASH_KERNEL = pathOf("kernel.sh");

/** Names bash in its messages as usual: `bash: line 2: x: command not found`. It would name the file of its kernel. */
function ofBash(message: string): string {
  return message.replaceAll(`${BASH_KERNEL}: `, "bash: ");
}

const NEWLINE = 10;

/** Calls `onLine` for each complete line. A line longer than `longest` bytes is truncated. */
export function readLines(stream: Readable, longest: number, onLine: (line: string) => void): void {
  const line = createByteBuffer();
  const add = (part: Uint8Array) => {
    const room = longest - line.size();
    if (room > 0) line.add(part.subarray(0, room));
  };
  stream.on("error", () => {});
  stream.on("data", (bytes: Uint8Array) => {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      add(bytes.subarray(from, end));
      onLine(line.takeText());
      from = end + 1;
    }
    if (from < bytes.length) add(bytes.subarray(from));
  });
}
