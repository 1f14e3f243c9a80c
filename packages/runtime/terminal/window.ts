/** Limits how much output is sent to a client that it has not acknowledged. @module */

/** A window. Without a size it has no limit. */
export interface OutputWindow {
  /** Adds bytes that are about to be sent. To be called before sending, or the acknowledgement could come first. */
  send(bytes: number): void;
  /** Resolves when there is room, or the client has disconnected. */
  room(): Promise<void>;
  /** The client has processed this many bytes since the beginning. @throws {RangeError} if that is impossible */
  taken(bytes: number): void;
  /**
   * Sets whether messages of the client are not read at the moment. If so, there is no limit; otherwise both sides
   * would wait for each other.
   */
  deaf(isDeaf: boolean): void;
}

/** Creates a window. `left` aborts when the client has disconnected. @param size in bytes; undefined: no limit */
export function createWindow(size: number | undefined, left: AbortSignal): OutputWindow {
  let sent = 0;
  let taken = 0;
  let isDeaf = false;
  let onTaken = () => {};
  left.addEventListener("abort", () => onTaken());
  const isOpen = () => size === undefined || isDeaf || sent - taken < size;
  return {
    send: (bytes) => {
      sent += bytes;
    },
    async room() {
      while (!isOpen() && !left.aborted) await new Promise<void>((resolve) => onTaken = resolve);
    },
    taken(bytes) {
      if (!Number.isSafeInteger(bytes) || bytes < taken || bytes > sent) {
        throw new RangeError(`Cannot have taken ${bytes} bytes: ${sent} were sent`);
      }
      taken = bytes;
      onTaken();
    },
    deaf(now) {
      isDeaf = now;
      onTaken();
    },
  };
}
