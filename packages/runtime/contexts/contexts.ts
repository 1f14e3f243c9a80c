/** Code contexts by id: interpreters that keep their variables between calls. @module */
import { randomUUID } from "node:crypto";
import { watchLimits } from "../processes/run.ts";
import type { BoundVariables } from "../processes/command.ts";
import type { KernelEvent } from "./events.ts";
import { type Kernel, type Language, startKernel } from "./kernel.ts";

/** One context. */
export interface CodeContext {
  id: string;
  language: Language;
  /** Absolute path. */
  cwd: string;
  env: Record<string, string>;
  /** Whether it is the default context of its language. If its interpreter has ended, the next run starts a new one. */
  isDefault: boolean;
  kernel: Kernel;
  /** Settles when the interpreter that is being started is ready, or has failed to start. */
  starting: Promise<unknown>;
  /** Whether code is running in it. */
  busy: boolean;
  /** Number of runs since the last restart. */
  count: number;
  /** Settles when the last requested run has ended; the next run waits for it. */
  turn: Promise<unknown>;
}

/** How a run ended. */
export interface RunEnd {
  executionCount: number;
  timedOut: boolean;
}

/** What can end a run early, and how to run. */
interface CodeLimits {
  timeoutMs?: number | undefined;
  signal?: AbortSignal;
  /** Variables for this run only. After it, they have their previous values. Java gets them as system properties. */
  env?: Record<string, string>;
  /** Starts a new interpreter if that of a context has ended. @default only for default contexts */
  revives?: boolean;
  /** Called when the code begins to run. */
  onBegin?(executionCount: number): void;
}

/** All contexts of the sandbox. */
export interface Contexts {
  /** @throws {SpawnError} */
  create(language: Language, cwd: string, env: Record<string, string>): Promise<CodeContext>;
  get(id: string): CodeContext | undefined;
  /**
   * Returns the default context of a language and folder; creates it at the first call.
   *
   * @param cwd absolute path. @default the working directory
   * @throws {SpawnError}
   */
  default(language: Language, cwd?: string): Promise<CodeContext>;
  list(): CodeContext[];
  remove(context: CodeContext): void;
  /**
   * Starts a new interpreter with the same folder and environment. Waiting code runs in the new one.
   *
   * @throws {SpawnError}
   */
  restart(context: CodeContext): Promise<void>;
  /**
   * Runs code after the code that is already running or waiting. The last value that it yields is a {@link RunEnd}.
   *
   * @throws {DeadContextError} if there is no interpreter to run it
   */
  run(context: CodeContext, code: string, limits: CodeLimits): AsyncGenerator<KernelEvent | RunEnd>;
  /** Number of contexts in which code is running. */
  busy(): number;
  killAll(): void;
}

/** The context was removed, or its interpreter has ended. */
export class DeadContextError extends Error {
  override name = "DeadContextError";
}

/** If code does not react to an interrupt for this time, its interpreter is killed. In milliseconds. */
const GRACE_MS = 3000;

/** Creates the contexts. `env` is called at each start of an interpreter. @param workdir folder of the default contexts */
export function createContexts(workdir: string, env: BoundVariables = () => ({})): Contexts {
  const byId = new Map<string, CodeContext>();
  const defaults = new Map<string, Promise<CodeContext>>();
  let isOver = false;
  const launch = async (language: Language, cwd: string, own: Record<string, string>) => {
    const kernel = await startKernel(language, cwd, { ...await env(), ...own });
    if (isOver) kernel.kill();
    return kernel;
  };
  const add = async (language: Language, cwd: string, own: Record<string, string>, isDefault: boolean) => {
    const kernel = await launch(language, cwd, own);
    const fresh = { busy: false, count: 0, turn: Promise.resolve(), starting: Promise.resolve() };
    const context: CodeContext = { id: randomUUID(), language, cwd, env: own, isDefault, kernel, ...fresh };
    byId.set(context.id, context);
    return context;
  };
  /** Kills the interpreter and starts another one. If one is being started, waits for that and kills it, too. */
  const restart = (context: CodeContext): Promise<void> => {
    context.kernel.kill(RESTARTED);
    const started = context.starting.then(async () => {
      context.kernel.kill(RESTARTED);
      context.kernel = await launch(context.language, context.cwd, context.env);
      context.count = 0;
      if (!byId.has(context.id)) context.kernel.kill();
    });
    context.starting = started.catch(() => {});
    return started;
  };
  /** Makes sure that the context has an interpreter. If it starts a new one, returns how the previous one ended. */
  const revive = async (context: CodeContext, revives = context.isDefault): Promise<string | undefined> => {
    await context.starting;
    const end = context.kernel.end();
    if (end === undefined) return undefined;
    if (!byId.has(context.id)) throw new DeadContextError(`Cannot run code in context ${context.id}: it was removed`);
    if (!revives) {
      const why = `its ${context.language} interpreter ended (${end}), and its variables are lost`;
      throw new DeadContextError(`Cannot run code in context ${context.id}: ${why}. Restart it, or make another.`);
    }
    await restart(context);
    return end;
  };
  async function* run(context: CodeContext, code: string, limits: CodeLimits): AsyncGenerator<KernelEvent | RunEnd> {
    const before = context.turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    context.turn = before.then(() => promise);
    try {
      await before;
      if (limits.signal?.aborted) return;
      const end = await revive(context, limits.revives);
      if (end !== undefined) yield { stderr: `${newInterpreter(context.language, end)}\n` };
      yield* runNow(context, code, limits);
    } finally {
      resolve();
    }
  }
  return {
    create: (language, cwd, own) => add(language, cwd, own, false),
    get: (id) => byId.get(id),
    default: (language, cwd = workdir) => {
      const key = `${language} ${cwd}`;
      const make = () => add(language, cwd, {}, true);
      // The calls run one after another, so that two callers at the same time get the same context.
      const found = (defaults.get(key) ?? make()).then((known) => byId.has(known.id) ? known : make(), make);
      defaults.set(key, found);
      return found;
    },
    list: () => [...byId.values()],
    remove: (context) => {
      byId.delete(context.id);
      context.kernel.kill("its context was removed");
    },
    restart,
    run,
    busy: () => [...byId.values()].filter(({ busy }) => busy).length,
    killAll: () => {
      isOver = true;
      byId.forEach(({ kernel }) => kernel.kill());
    },
  };
}

const RESTARTED = "its context was restarted";

/** The first line on standard error of code that runs in a new interpreter, after the previous one has ended. */
function newInterpreter(language: Language, end: string): string {
  return `[hookbox: the ${language} interpreter had ended (${end}); this is a new one, without its variables]`;
}

async function* runNow(context: CodeContext, code: string, limits: CodeLimits): AsyncGenerator<KernelEvent | RunEnd> {
  const { kernel } = context;
  const executionCount = ++context.count;
  context.busy = true;
  let timedOut = false;
  let isBroken = false;
  limits.onBegin?.(executionCount);
  const { events, finished } = kernel.run(code, limits.env);
  const end = () => {
    // A second interrupt would hit the code that handles the first one.
    if (!isBroken) breakOff(kernel, finished);
    isBroken = true;
  };
  const unwatch = watchLimits(limits.timeoutMs, limits.signal, (why) => {
    timedOut = why === "timeout";
    end();
  });
  let over = false;
  finished.then(() => over = true);
  try {
    yield* events;
    yield { executionCount, timedOut };
  } finally {
    unwatch();
    // The reader left before the end of the run, so nobody needs the rest.
    if (!over) end();
    await finished;
    context.busy = false;
  }
}

/** Interrupts the code. If it does not react, kills its interpreter. */
function breakOff(kernel: Kernel, finished: Promise<void>): void {
  kernel.interrupt();
  const timer = setTimeout(kernel.kill, GRACE_MS, "the code ignored an interrupt and was killed");
  finished.then(() => clearTimeout(timer));
}
