/** Keeps the beginning and the end of a long text. Pure. @module */

/** A text that is kept as far as there is room. */
export interface Clip {
  add(piece: string): void;
  /** What is kept; in place of what is not, a line that says how much that is. */
  text(): string;
  isClipped(): boolean;
}

/**
 * Makes one that keeps `limit` characters, half of them from the beginning: errors stand at the end, their causes at the
 * beginning.
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
      // Cut now and then, not for each piece.
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

/** What engines make of a slice keeps the whole text in memory, which may be 64 MiB. */
function copied(slice: string): string {
  return ` ${slice}`.slice(1);
}

/** Clips a whole text. */
export function clipped(text: string, limit: number): string {
  const clip = createClip(limit);
  clip.add(text);
  return clip.text();
}
