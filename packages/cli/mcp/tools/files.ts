/** MCP tools for text files and folders in a sandbox. @module */
import * as z from "zod";
import { FileNotFoundError, InvalidArgumentError } from "../../../sdk/errors.ts";
import type { Entry } from "../../../sdk/files/entry.ts";
import type { Files } from "../../../sdk/files/files.ts";
import type { UserOptions } from "../../../sdk/runtime/call.ts";
import { oneLine } from "../../terminal.ts";
import { defineTool, READS, REPLACES, SANDBOX, text, type Tool } from "../tool.ts";

const PATH = z.string().min(1).describe(
  "Absolute path, or path from the working directory, such as `project/main.py`; `~` is the home",
);
const MOST_ENTRIES = 10_000;
/** Largest length of a list as text, because a sandbox may have long paths. */
const MOST_CHARACTERS = 50_000;
const MOST_DEPTH = 20;
/** Largest file that can be written in one call, in bytes. */
const MOST_CONTENT = 4 << 20;

export const readFile: Tool = defineTool({
  name: "read_file",
  title: "Read a text file",
  description: "Reads a text file (UTF-8) of a sandbox. Of a long one the first maxBytes are returned, and at which " +
    "offset to go on. For images use download_file.",
  input: {
    sandbox: SANDBOX,
    path: PATH,
    offset: z.int().min(0).default(0).describe("Bytes to leave out at the beginning"),
    maxBytes: z.int().min(4).max(1 << 20).default(65_536),
  },
  hints: READS,
  async run({ sandbox, path, offset, maxBytes }, { open, signal, user }) {
    const { files } = await open(sandbox);
    // One more byte than requested shows whether the file continues.
    const bytes = await files.read(path, { format: "bytes", offset, length: maxBytes + 1, signal, user });
    const isMore = bytes.length > maxBytes;
    const part = isMore ? wholeCharacters(bytes.subarray(0, maxBytes)) : bytes;
    const content = decoded(part, path, offset);
    const nextOffset = offset + part.length;
    if (!isMore) return { data: {}, content: content === "" ? [text("[no content]")] : [text(content)] };
    const { size } = await files.stat(path, { signal, user });
    const note = `[The file goes on: these are bytes ${offset} to ${nextOffset}, and the file has ${size}. ` +
      `Go on with offset ${nextOffset}.]`;
    return { data: { nextOffset }, content: [text(content), text(note)] };
  },
});

export const writeFile: Tool = defineTool({
  name: "write_file",
  title: "Write a text file",
  description:
    "Writes a text file of a sandbox, completely or not at all, and creates the folders above it. An existing file is " +
    "replaced. Returns the absolute path. For binary files use upload_file.",
  input: {
    sandbox: SANDBOX,
    path: PATH,
    content: z.string().max(MOST_CONTENT),
    executable: z.boolean().optional().describe("Whether it may be run. Default: as the file that it replaces"),
  },
  output: { path: z.string().describe("Absolute path"), bytes: z.int() },
  hints: REPLACES,
  async run({ sandbox, path, content, executable }, { open, signal, user }) {
    const { files } = await open(sandbox);
    const mode = executable === undefined ? {} : { mode: executable ? 0o755 : 0o644 };
    const data = new TextEncoder().encode(content);
    await files.write(path, data, { ...mode, signal, user });
    const written = await absolutePath(files, path, { signal, user });
    return {
      data: { path: written, bytes: data.length },
      content: [text(`Wrote ${data.length} bytes to ${written}.`)],
    };
  },
});

export const listFiles: Tool = defineTool({
  name: "list_files",
  title: "List a folder",
  description:
    "Lists what is in a folder of a sandbox, by absolute paths, with the size of each file in bytes. Folders end with a " +
    "slash. With a depth, also lists what is in its folders. Of a long list the first maxEntries are returned.",
  input: {
    sandbox: SANDBOX,
    path: z.string().default(".").describe("A folder. Default: the working directory"),
    depth: z.int().min(1).max(MOST_DEPTH).default(1),
    maxEntries: z.int().min(1).max(MOST_ENTRIES).default(200)
      .describe("Entries that are returned; fewer if their paths are long"),
  },
  hints: READS,
  async run({ sandbox, path, depth, maxEntries }, { open, signal, user }) {
    const { files } = await open(sandbox);
    const folder = await absolutePath(files, path, { signal, user });
    // Without the limit, a large tree would be read as a whole, which takes minutes.
    const limit = depth === 1 ? undefined : maxEntries + 1;
    const all = await files.list(folder, { depth, limit, signal, user });
    const entries = firstOf(all, maxEntries);
    const omitted = all.length - entries.length;
    const lines = entries.map(lineOf);
    if (all.length === 0) lines.push(`(${oneLine(folder)} is empty)`);
    const raise = entries.length === maxEntries && maxEntries < MOST_ENTRIES ? "raise maxEntries, or " : "";
    const count = depth === 1 ? `${omitted} more entries` : "There are more entries";
    if (omitted > 0) lines.push(`[${count}: ${raise}list a folder further down]`);
    return { data: { path: folder, truncated: omitted > 0 }, content: [text(lines.join("\n"))] };
  },
});

export const fileExists: Tool = defineTool({
  name: "file_exists",
  title: "Look for a file",
  description: "Returns whether a file or folder exists at a path of a sandbox, and its type.",
  input: { sandbox: SANDBOX, path: PATH },
  output: {
    exists: z.boolean(),
    path: z.string().optional().describe("Absolute path"),
    type: z.enum(["file", "directory", "symlink", "other"]).optional(),
    size: z.number().optional().describe("Bytes"),
  },
  hints: READS,
  async run({ sandbox, path }, { open, signal, user }) {
    const { files } = await open(sandbox);
    const found = await files.stat(path, { signal, user }).catch((error) => {
      if (error instanceof FileNotFoundError) return undefined;
      throw error;
    });
    const line = found
      ? `${oneLine(found.path)} is a ${found.type} of ${found.size} bytes.`
      : `There is nothing at ${oneLine(path)}.`;
    return {
      data: found ? { exists: true, path: found.path, type: found.type, size: found.size } : { exists: false },
      content: [text(line)],
    };
  },
});

/** Returns the path that other programs of the sandbox use, in each folder. If nothing is there, the path as given. */
export async function absolutePath(files: Files, path: string, options: UserOptions): Promise<string> {
  return await files.stat(path, options).then(({ path }) => path, () => path);
}

/** Returns the first entries: at most `most`, and together at most {@link MOST_CHARACTERS}. */
function firstOf(all: Entry[], most: number): Entry[] {
  let left = MOST_CHARACTERS;
  const end = all.slice(0, most).findIndex((entry) => (left -= lineOf(entry).length) < 0);
  return all.slice(0, end < 0 ? most : end);
}

function lineOf({ path, type, size, target }: Entry): string {
  const name = oneLine(path);
  if (type === "directory") return name.endsWith("/") ? name : `${name}/`;
  return type === "symlink" ? `${name} -> ${target === undefined ? "?" : oneLine(target)}` : `${name}  ${size}`;
}

/** Removes an incomplete character at the end. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 3 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  const lead = bytes[end - 1] ?? 0;
  const wants = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.length - end + 1 < wants ? bytes.subarray(0, end - 1) : bytes;
}

function decoded(bytes: Uint8Array, path: string, offset: number): string {
  try {
    const content = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!content.includes("\0")) return content;
  } catch {
    // The error is thrown below.
  }
  const where = offset === 0 ? "" : ` from byte ${offset}`;
  throw new InvalidArgumentError(`Cannot read "${path}"${where} as text: it is not UTF-8`, {
    remedy: offset === 0
      ? "Use download_file for an image, or look at the bytes: xxd FILE | head."
      : "Go on at an offset that read_file has returned.",
  });
}
