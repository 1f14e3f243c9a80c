/** A bounded queue between an interpreter and the reader of its events. @module */
import type { Readable } from "node:stream";

/** Forms of a value by MIME type; binary ones are base64. */
export type Forms = Record<string, unknown>;

/** Offsets in a text at which the program flushed its output. Absent: it did not. */
type Ends = number[];

/** One event of a run. A text may be empty if it has `ends`. */
export type KernelEvent =
  | { stdout: string; ends?: Ends }
  | { stderr: string; ends?: Ends }
  /** A displayed value. `main`: it is the value of the last expression. */
  | { result: Forms; main: boolean }
  | { error: { name: string; value: string; traceback: string } };

/** The queue. */
export interface KernelEvents {
  /** Adds an event. Dropped if there is no reader. */
  push(event: KernelEvent): void;
  /** Yields the events that are pushed from now on, until `finished` resolves. */
  read(finished: Promise<void>): AsyncGenerator<KernelEvent>;
}

/** Characters of unread output from which the interpreter has to wait. */
const HIGH_WATER = 1 << 20;

/** Creates the queue. While its reader is behind, `streams` are paused. */
export function createKernelEvents(streams: Readable[]): KernelEvents {
  let queue: KernelEvent[] | undefined;
  let waiting = 0;
  let wake = () => {};
  const resume = () => {
    waiting = 0;
    for (const stream of streams) if (stream.isPaused()) stream.resume();
  };
  return {
    push: (event) => {
      if (!queue || isEmpty(event)) return;
      waiting += sizeOf(event);
      if (!appended(queue.at(-1), event)) queue.push(event);
      if (waiting > HIGH_WATER) { for (const stream of streams) stream.pause(); }
      wake();
    },
    read: (finished) => {
      const own: KernelEvent[] = queue = [];
      let over = false;
      finished.then(() => {
        over = true;
        wake();
      });
      const leave = () => {
        if (queue === own) queue = undefined;
        resume();
      };
      return (async function* () {
        try {
          while (true) {
            yield* own.splice(0);
            resume();
            if (own.length > 0) continue;
            if (over) return;
            await new Promise<void>((resolve) => wake = resolve);
          }
        } finally {
          leave();
        }
      })();
    },
  };
}

function sizeOf(event: KernelEvent): number {
  if ("stdout" in event) return sizeOfText(event.stdout, event.ends);
  if ("stderr" in event) return sizeOfText(event.stderr, event.ends);
  return 1000;
}

/** Each end counts, because a program may flush after each character. */
function sizeOfText(text: string, ends: Ends = []): number {
  return text.length + 10 * ends.length;
}

function isEmpty(event: KernelEvent): boolean {
  return ("stdout" in event || "stderr" in event) && sizeOf(event) === 0;
}

/** Appends text to the previous event if that is of the same stream, because print() writes small pieces. */
function appended(last: KernelEvent | undefined, next: KernelEvent): boolean {
  if (last && "stdout" in last && "stdout" in next) {
    addEnds(last, next.ends, last.stdout.length);
    last.stdout += next.stdout;
  } else if (last && "stderr" in last && "stderr" in next) {
    addEnds(last, next.ends, last.stderr.length);
    last.stderr += next.stderr;
  } else return false;
  return true;
}

function addEnds(last: { ends?: Ends }, ends: Ends | undefined, offset: number): void {
  if (ends) (last.ends ??= []).push(...ends.map((end) => end + offset));
}
