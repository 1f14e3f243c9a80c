/** How much output may be on its way that the other side has not dealt with yet. Sends nothing. @module */

/** A window; without a size it never closes. */
export interface OutputWindow {
  /** So many bytes are to be on their way; said before they are sent, or they could be taken before. */
  send(bytes: number): void;
  /** Resolves when there is room, or the other side has left. */
  room(): Promise<void>;
  /** The other side has dealt with so many bytes since the beginning. @throws {RangeError} if that cannot be */
  taken(bytes: number): void;
  /** What the other side says is not read now, or is again: meanwhile there is room, or each would wait for the other. */
  deaf(isDeaf: boolean): void;
}

/** Makes it; `left` fires when the other side has left. @param size in bytes; undefined: no limit */
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
