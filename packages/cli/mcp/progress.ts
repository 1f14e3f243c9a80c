/** Progress of a call, for clients that ask for it: often enough to be seen, not for every piece. @module */

/** Tells a client how far a call is. */
export interface Progress {
  tell(message: string): void;
  /** Tells what is left; after that nothing. To be called before the call's result goes out. */
  end(): void;
}

/** What a request brings along to be told of. */
export interface Told {
  _meta?: { progressToken?: string | number | undefined } | undefined;
  signal: AbortSignal;
  sendNotification(notification: {
    method: "notifications/progress";
    params: { progressToken: string | number; progress: number; message: string };
  }): Promise<void>;
}

const EVERY_MS = 200;
/** A message is a glimpse; the result has more. */
const MOST_CHARACTERS = 2000;

/**
 * Makes what tells; without a token it tells nobody. Messages that come within {@link EVERY_MS} of each other go out as one,
 * of which the end is kept.
 */
export function createProgress({ _meta, signal, sendNotification }: Told): Progress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { tell: () => {}, end: () => {} };
  let waiting = "";
  let progress = 0;
  let hasEnded = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const send = () => {
    timer = undefined;
    if (waiting === "" || signal.aborted) return;
    const message = waiting.slice(-MOST_CHARACTERS).toWellFormed();
    waiting = "";
    if (!hasEnded) timer = setTimeout(send, EVERY_MS);
    // A client that is gone needs no telling.
    sendNotification({ method: "notifications/progress", params: { progressToken, progress: ++progress, message } })
      .catch(() => {});
  };
  return {
    tell(message) {
      if (hasEnded) return;
      waiting = (waiting + message).slice(-2 * MOST_CHARACTERS);
      if (timer === undefined) send();
    },
    end() {
      hasEnded = true;
      clearTimeout(timer);
      send();
    },
  };
}
