/** Code contexts by id: interpreters whose state is kept between calls; it must not know a wire. @module */
import { randomUUID } from "node:crypto";
import { watchLimits } from "../processes/limits.ts";
import type { KernelEvent } from "./events.ts";
import { type Kernel, type Language, startKernel } from "./kernel.ts";

/** One context. */
export interface Context {
  id: string;
  language: Language;
  /** Absolute. */
  cwd: string;
  env: Record<string, string>;
  kernel: Kernel;
  /** Runs code now. */
  busy: boolean;
  /** How many times code ran, since the last restart. */
  count: number;
  /** The end of the last run that was asked for: the next one waits for it. */
  turn: Promise<unknown>;
}

/** How a run ended. */
export interface Ran {
  executionCount: number;
  timedOut: boolean;
}

/** What may end a run before its time. */
export interface CodeLimits {
  timeoutMs?: number | undefined;
  signal?: AbortSignal;
}

/** All of them. */
export interface Contexts {
  /** @throws {SpawnError} */
  create(language: Language, cwd: string, env: Record<string, string>): Promise<Context>;
  get(id: string): Context | undefined;
  /** The one for those who name none; made when it is first needed. @throws {SpawnError} */
  default(language: Language): Promise<Context>;
  list(): Context[];
  remove(context: Context): void;
  /** A new interpreter, in the same folder and with the same variables. @throws {SpawnError} */
  restart(context: Context): Promise<void>;
  /** Runs code after what runs already; the last thing yielded is how it ended. */
  run(context: Context, code: string, limits: CodeLimits): AsyncGenerator<KernelEvent | Ran>;
  /** How many run code now. */
  busy(): number;
  killAll(): void;
}

/** Code that does not heed an interrupt for so long is killed with its interpreter, in milliseconds. */
const GRACE_MS = 3000;

/** Makes the list. `env` is asked for at each start of an interpreter. */
export function createContexts(root: string, env: () => Record<string, string> = () => ({})): Contexts {
  const byId = new Map<string, Context>();
  const defaults = new Map<Language, Promise<Context>>();
  const launch = (language: Language, cwd: string, own: Record<string, string>) =>
    startKernel(language, cwd, { ...env(), ...own });
  const create = async (language: Language, cwd: string, own: Record<string, string>) => {
    const kernel = await launch(language, cwd, own);
    const fresh = { busy: false, count: 0, turn: Promise.resolve() };
    const context: Context = { id: randomUUID(), language, cwd, env: own, kernel, ...fresh };
    byId.set(context.id, context);
    return context;
  };
  return {
    create,
    get: (id) => byId.get(id),
    default: async (language) => {
      const known = await defaults.get(language)?.catch(() => undefined);
      if (known && byId.has(known.id)) return known;
      const made = create(language, root, {});
      defaults.set(language, made);
      return await made;
    },
    list: () => [...byId.values()],
    remove: (context) => {
      byId.delete(context.id);
      context.kernel.kill();
    },
    restart: async (context) => {
      context.kernel.kill();
      context.kernel = await launch(context.language, context.cwd, context.env);
      context.count = 0;
    },
    run: inTurn,
    busy: () => [...byId.values()].filter(({ busy }) => busy).length,
    killAll: () => byId.forEach(({ kernel }) => kernel.kill()),
  };
}

async function* inTurn(context: Context, code: string, limits: CodeLimits): AsyncGenerator<KernelEvent | Ran> {
  const before = context.turn;
  const { promise, resolve } = Promise.withResolvers<void>();
  context.turn = before.then(() => promise);
  try {
    await before;
    if (!limits.signal?.aborted) yield* runNow(context, code, limits);
  } finally {
    resolve();
  }
}

async function* runNow(context: Context, code: string, limits: CodeLimits): AsyncGenerator<KernelEvent | Ran> {
  const { kernel } = context;
  const executionCount = ++context.count;
  context.busy = true;
  let timedOut = false;
  const { events, finished } = kernel.run(code);
  const unwatch = watchLimits(limits.timeoutMs, limits.signal, (why) => {
    timedOut = why === "timeout";
    breakOff(kernel, finished);
  });
  let over = false;
  finished.then(() => over = true);
  try {
    yield* events;
    yield { executionCount, timedOut };
  } finally {
    unwatch();
    // The reader has left in the middle: nobody wants the rest.
    if (!over) breakOff(kernel, finished);
    await finished;
    context.busy = false;
  }
}

/** Interrupts, and kills what does not heed it. */
function breakOff(kernel: Kernel, finished: Promise<void>): void {
  kernel.interrupt();
  const timer = setTimeout(kernel.kill, GRACE_MS);
  finished.then(() => clearTimeout(timer));
}
