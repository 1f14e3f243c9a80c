/** Shortens what a sandbox sends, and removes what a model cannot read, such as escape sequences. @module */
import type { ContentBlock } from "@modelcontextprotocol/sdk/types.js";

// Each alternative begins with a control character and reads no other one, so that matching takes linear time.
// deno-lint-ignore no-control-regex -- it matches what must be removed
const ESCAPES = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]/g;
// deno-lint-ignore no-control-regex -- it matches what must be replaced
const CONTROL_CHARACTERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * Returns output of a program as a person would read it in a terminal: without escape sequences, and only the last
 * version of a line that was written several times, such as a progress bar. Other control characters become U+FFFD.
 */
export function readable(output: string): string {
  const lines = output.replace(ESCAPES, "").split("\n");
  return lines.map(lastVersion).join("\n").replace(CONTROL_CHARACTERS, "\ufffd");
}

function lastVersion(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end--;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

/** A text that is kept up to a limited size. */
interface Clip {
  add(piece: string): void;
  /** Returns the kept text. A line replaces the removed part and says how long it was. */
  text(): string;
  isClipped(): boolean;
}

/**
 * Creates a clip that keeps `limit` characters: half from the beginning and half from the end, because an error is at
 * the end and its cause at the beginning.
 *
 * @param remedy sentence that says how to get the removed part
 */
function createClip(limit: number, remedy = ""): Clip {
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
      const note = `[… ${left} characters left out here.${remedy && ` ${remedy}`} …]`;
      return `${head}\n${note}\n${end}`.toWellFormed();
    },
  };
}

/** Copies a slice. JavaScript engines keep the whole text of a slice in memory, which may be 64 MiB. */
function copied(slice: string): string {
  return ` ${slice}`.slice(1);
}

/** Collects the output of a program. Only what is returned is kept, because all sessions share the server's memory. */
export function createOutput(limit: number, progress: (piece: string) => void, remedy: string) {
  const stdout = createClip(limit, remedy);
  const stderr = createClip(limit, remedy);
  const keep = (clip: Clip) => (piece: string) => {
    clip.add(piece);
    progress(piece);
  };
  const labelled = (name: string, clip: Clip) => {
    const output = readable(clip.text()).replace(/\n$/, "");
    return output === "" ? [] : [{ type: "text" as const, text: `--- ${name}\n${output}` }];
  };
  return {
    handlers: { onStdout: keep(stdout), onStderr: keep(stderr) },
    isClipped: () => stdout.isClipped() || stderr.isClipped(),
    /** Returns a block for each stream that has output, so that no output can be mistaken for that of the other. */
    content: (): ContentBlock[] => [...labelled("stdout", stdout), ...labelled("stderr", stderr)],
  };
}

/** Clips a whole text. @param remedy as for {@link createClip} */
export function clipped(text: string, limit: number, remedy?: string): string {
  const clip = createClip(limit, remedy);
  clip.add(text);
  return clip.text();
}
