/** Shortens a long text to its beginning and end. @module */

/** A text that is kept up to a limited size. */
export interface Clip {
  add(piece: string): void;
  /** Returns the kept text. A line replaces the removed part and says how long it was. */
  text(): string;
  isClipped(): boolean;
}

/**
 * Creates a clip that keeps `limit` characters: half from the beginning and half from the end, because an error is at
 * the end and its cause at the beginning.
 */
export function createClip(limit: number): Clip {
  const half = Math.ceil(limit / 2);
  let head = "";
  let tail = "";
  let length = 0;
  const isClipped = () => length > limit;
  return {
    isClipped,
    add(piece) {
      length += piece.length;
      const room = half - head.length;
      head += copied(piece.slice(0, room));
      tail += copied(piece.slice(Math.max(0, room)).slice(-limit));
      // Shortened only now and then, because doing it for each piece is slow.
      if (tail.length > 4 * limit) tail = tail.slice(-limit);
    },
    text() {
      if (!isClipped()) return (head + tail).toWellFormed();
      const end = tail.slice(-(limit - half) || tail.length);
      const left = length - head.length - end.length;
      return `${head}\n[… ${left} characters left out …]\n${end}`.toWellFormed();
    },
  };
}

/** Copies a slice. JavaScript engines keep the whole text of a slice in memory, which may be 64 MiB. */
function copied(slice: string): string {
  return ` ${slice}`.slice(1);
}

/** Clips a whole text. */
export function clipped(text: string, limit: number): string {
  const clip = createClip(limit);
  clip.add(text);
  return clip.text();
}
