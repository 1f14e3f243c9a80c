/** The table of MCP sessions: limits their number, checks their owner, and ends idle ones. @module */
import type { Clock } from "../../process/clock.ts";

/** Limits of the table. */
export interface SessionLimits {
  /** Largest number of sessions at a time. */
  most: number;
  /** Time after the last request or stream after which a session ends, in milliseconds. */
  idleMs: number;
}

/** Why a session ended. */
export type EndReason = "closed" | "idle" | "stopped";

interface SessionRecord<T> {
  value: T;
  owner: string;
  /** Number of open requests and streams. */
  open: number;
  cancelTimer: () => void;
}

/** Sessions by their ids. */
export interface Sessions<T> {
  isFull(): boolean;
  /** Reserves a place for a new session. Call the returned function to release it. */
  reserve(): () => void;
  add(id: string, owner: string, value: T): void;
  /**
   * Returns a session, and counts as a use until `done` is called. Undefined if it does not exist or has another owner.
   */
  use(id: string, owner: string): { value: T; done: () => void } | undefined;
  /** Removes a session and ends it. */
  end(id: string, why: EndReason): Promise<void>;
  endAll(): Promise<void>;
}

/** Creates an empty table. @param onEnd ends the session */
export function createSessions<T>(
  { most, idleMs }: SessionLimits,
  clock: Clock,
  onEnd: (value: T, why: EndReason) => Promise<void>,
): Sessions<T> {
  const entries = new Map<string, SessionRecord<T>>();
  const ending = new Set<Promise<void>>();
  let reserved = 0;

  function rest(id: string, entry: SessionRecord<T>): void {
    entry.cancelTimer();
    entry.cancelTimer = clock.setTimeout(() => void end(id, "idle"), idleMs);
  }

  async function end(id: string, why: EndReason): Promise<void> {
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
      const entry: SessionRecord<T> = { value, owner, open: 0, cancelTimer: () => {} };
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
