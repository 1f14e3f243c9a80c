/** The sessions that stand: how many, whose, and which nobody uses any more. Knows no protocol. @module */
import type { Clock } from "../../../process/clock.ts";

/** Limits of the table. */
export interface SessionLimits {
  /** Sessions at a time. */
  most: number;
  /** Milliseconds after its last request, or the end of its last stream, after which one ends. */
  idleMs: number;
}

/** What ends a session. */
export type Why = "closed" | "idle" | "stopped";

interface Entry<T> {
  value: T;
  owner: string;
  /** Requests and streams that are open. */
  open: number;
  cancelTimer: () => void;
}

/** Sessions by their ids. */
export interface Sessions<T> {
  isFull(): boolean;
  /** Keeps a place for one to come; to be given back by `add` or the function returned. */
  reserve(): () => void;
  add(id: string, owner: string, value: T): void;
  /** Returns one and counts a use of it, which ends by `done`; undefined if there is none, or it is somebody else's. */
  use(id: string, owner: string): { value: T; done: () => void } | undefined;
  /** Forgets one and ends it. */
  end(id: string, why: Why): Promise<void>;
  endAll(): Promise<void>;
}

/** Makes an empty table. @param onEnd ends what a session is made of */
export function createSessions<T>(
  { most, idleMs }: SessionLimits,
  clock: Clock,
  onEnd: (value: T, why: Why) => Promise<void>,
): Sessions<T> {
  const entries = new Map<string, Entry<T>>();
  const ending = new Set<Promise<void>>();
  let reserved = 0;

  function rest(id: string, entry: Entry<T>): void {
    entry.cancelTimer();
    entry.cancelTimer = clock.setTimeout(() => void end(id, "idle"), idleMs);
  }

  async function end(id: string, why: Why): Promise<void> {
    const entry = entries.get(id);
    if (!entry) return;
    entries.delete(id);
    entry.cancelTimer();
    const ended = onEnd(entry.value, why);
    ending.add(ended);
    await ended.finally(() => ending.delete(ended));
  }

  return {
    isFull: () => entries.size + reserved >= most,
    reserve() {
      reserved++;
      return once(() => reserved--);
    },
    add(id, owner, value) {
      const entry: Entry<T> = { value, owner, open: 0, cancelTimer: () => {} };
      entries.set(id, entry);
      rest(id, entry);
    },
    use(id, owner) {
      const entry = entries.get(id);
      if (!entry || entry.owner !== owner) return undefined;
      entry.open++;
      entry.cancelTimer();
      const done = once(() => {
        if (--entry.open === 0 && entries.get(id) === entry) rest(id, entry);
      });
      return { value: entry.value, done };
    },
    end,
    async endAll() {
      await Promise.all([...entries.keys()].map((id) => end(id, "stopped")));
      await Promise.all(ending);
    },
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
