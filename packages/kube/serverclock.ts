/**
 * What time it is at the API server, by the Date of its answers and a clock that no operator sets. Processes that judge one
 * object by time agree by it, whatever their own wall clocks say.
 * @module
 */

export interface ServerClock {
  /**
   * Takes note of an answer.
   *
   * @param date its header, which has whole seconds; undefined or no date: it says nothing
   * @param sentAt when its request was sent, and `at` when it came, in milliseconds of a monotonic clock
   */
  answered(date: string | undefined, sentAt: number, at: number): void;
  /** In milliseconds since the epoch; undefined: no answer has said. */
  now(): number | undefined;
}

/**
 * Makes the clock. Each answer bounds the server's time: the date was true, or up to a second old, when the answer was sent,
 * which was between `sentAt` and `at`. The latest lower bound counts, so that the clock is a second late at most.
 */
export function createServerClock(monotonic: () => number = () => performance.now()): ServerClock {
  /** Between the server's time and the monotonic clock. */
  let ahead: number | undefined;
  return {
    answered(date = "", sentAt, at) {
      const then = Date.parse(date);
      if (Number.isNaN(then)) return;
      const [least, most] = [then - at, then + 1000 - sentAt];
      // Above the bound: the server's clock was set back, or this one runs fast.
      ahead = ahead === undefined || ahead > most ? least : Math.max(ahead, least);
    },
    now: () => ahead === undefined ? undefined : monotonic() + ahead,
  };
}
