/** MCP tools that copy binary files into and out of a sandbox. @module */
import { Buffer } from "node:buffer";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { ContentBlock } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { AuthorizationError, InvalidArgumentError, NotEnoughSpaceError } from "../../../sdk/errors.ts";
import type { Files } from "../../../sdk/files/files.ts";
import type { UserOptions } from "../../../sdk/runtime/call.ts";
import type { Scope } from "../session.ts";
import { ADDS, defineTool, READS, REPLACES, SANDBOX, text, type Tool } from "../tool.ts";
import { absolutePath } from "./files.ts";

/** Largest file inside of a message, in bytes. */
const MOST_BYTES = 4 << 20;
/** Largest file in base64 by default, in bytes, because a client may give it to the model as text. */
const FEW_BYTES = 64 << 10;
const PATH = z.string().min(1).describe("Absolute path, or path from the working directory");
const CONTENT = z.base64().max(Math.ceil(MOST_BYTES / 3) * 4).optional();

/** Creates the two tools. They accept paths on this machine only if a folder is allowed. */
export function transferTools({ localRoot }: Scope): Tool[] {
  return [uploadTool(localRoot), downloadTool(localRoot)];
}

function uploadTool(localRoot: string | undefined): Tool {
  const localPath = z.string().min(1).optional()
    .describe(`In place of content: a file or folder of the user's machine, below ${localRoot}`);
  return defineTool({
    name: "upload_file",
    title: "Upload a file",
    description: `Writes a file of any kind into a sandbox from base64, up to ${MOST_BYTES >> 20} MiB` +
      `${localRoot === undefined ? "" : ", or copies a file or a folder of the user's machine into it"}. ` +
      "What was there is replaced. For text use write_file.",
    input: {
      sandbox: SANDBOX,
      path: PATH,
      content: CONTENT.describe("The file in base64"),
      ...localRoot && { localPath },
    },
    output: {
      path: z.string().describe("Absolute path"),
      bytes: z.number(),
      files: z.int().describe("Files that were written"),
    },
    hints: REPLACES,
    async run({ sandbox, path, content, ...more }, { open, signal, user }) {
      const local = chosen(content, more, localRoot);
      const source = local && await existingPath(local.root, local.path);
      const { files } = await open(sandbox);
      const sent = source
        ? await files.upload(source, path, { signal, user })
        : await sendBytes(files, path, content ?? "", { signal, user });
      const written = await absolutePath(files, path, { signal, user });
      const data = { path: written, bytes: sent.bytes, files: sent.files };
      return { data, content: [text(`Wrote ${counted(data)} to ${written}.`)] };
    },
  });
}

function downloadTool(localRoot: string | undefined): Tool {
  const localPath = z.string().min(1).optional()
    .describe(
      `Copies the file or folder to this path of the user's machine, below ${localRoot}, and returns no content`,
    );
  return defineTool({
    name: "download_file",
    title: "Download a file",
    description:
      `Returns an image of a sandbox as an image, up to ${
        MOST_BYTES >> 20
      } MiB, and another file in base64, up to maxBytes` +
      `${
        localRoot === undefined ? "" : ". With localPath it copies a file or folder to the user's machine instead"
      }. ` +
      "For text use read_file.",
    input: {
      sandbox: SANDBOX,
      path: PATH,
      maxBytes: z.int().min(1).max(MOST_BYTES).default(FEW_BYTES)
        .describe("Largest file that is returned in base64, which needs many tokens"),
      ...localRoot && { localPath },
    },
    hints: localRoot === undefined ? READS : { ...ADDS, destructiveHint: true, idempotentHint: true },
    async run({ sandbox, path, maxBytes, ...more }, { open, signal, user }) {
      const local = localOf(more, localRoot);
      const { files } = await open(sandbox);
      if (local) {
        const target = await writablePath(local.root, local.path);
        const { bytes, files: count } = await files.download(path, target, { signal, user });
        const data = { path, bytes, files: count };
        return { data, content: [text(`Copied ${counted(data)} to ${target}.`)] };
      }
      const bytes = await files.read(path, { format: "bytes", length: MOST_BYTES + 1, signal, user });
      const mimeType = imageType(bytes);
      const most = mimeType ? MOST_BYTES : maxBytes;
      if (bytes.length > most) throw tooLarge(path, most, localRoot);
      const content = contentBlock({ sandbox, path, mimeType }, Buffer.from(bytes).toString("base64"));
      return { data: { path, bytes: bytes.length, files: 1 }, content: [content] };
    },
  });
}

interface LocalPath {
  root: string;
  path: string;
}

/** The parameter exists only if a folder is allowed. */
function localOf(more: object, root: string | undefined): LocalPath | undefined {
  const path = (more as { localPath?: string }).localPath;
  return path === undefined || root === undefined ? undefined : { root, path };
}

function chosen(content: string | undefined, more: object, root: string | undefined): LocalPath | undefined {
  const local = localOf(more, root);
  if ((content === undefined) !== (local === undefined)) return local;
  const wanted = root === undefined ? "content is needed" : "exactly one of content and localPath is needed";
  throw new InvalidArgumentError(`Cannot upload a file: ${wanted}`);
}

async function sendBytes(files: Files, path: string, content: string, options: UserOptions) {
  const bytes = Buffer.from(content, "base64");
  await files.write(path, bytes, options);
  return { bytes: bytes.length, files: 1 };
}

/** A file that is not text. `mimeType` is undefined if it is no image. */
interface BinaryFile {
  sandbox: string;
  path: string;
  mimeType: string | undefined;
}

function contentBlock({ sandbox, path, mimeType }: BinaryFile, data: string): ContentBlock {
  if (mimeType) return { type: "image", data, mimeType };
  const uri = `sandbox://${sandbox}/${path.split("/").filter(Boolean).map(encodeURIComponent).join("/")}`;
  return { type: "resource", resource: { uri, mimeType: "application/octet-stream", blob: data } };
}

/** Detects the type by the first bytes, because names can be wrong. */
function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" ? "image/webp" : undefined;
}

function counted({ bytes, files }: { bytes: number; files: number }): string {
  return files === 1 ? `${bytes} bytes` : `${files} files of ${bytes} bytes`;
}

function tooLarge(path: string, most: number, localRoot: string | undefined): NotEnoughSpaceError {
  const remedy = localRoot === undefined
    ? `Work on it in the sandbox with execute_command or run_code, ${
      most < MOST_BYTES ? "raise maxBytes, or" : "or"
    } return a part of it or a smaller form.`
    : "Copy it to the user's machine with localPath.";
  return new NotEnoughSpaceError(`Cannot return "${path}": it is larger than ${most} bytes`, { remedy });
}

/** Returns the real path of an existing file. @throws {AuthorizationError} if it is outside of the folder */
async function existingPath(root: string, path: string): Promise<string> {
  const base = await realpath(root);
  const wanted = resolve(base, path);
  const found = await realpath(wanted).catch(() => undefined);
  // The message must not reveal whether a path outside of the folder exists.
  if (found !== undefined && isWithin(base, found)) return found;
  if (!isWithin(base, wanted) || found !== undefined) throw outside(path, root);
  throw new InvalidArgumentError(`Cannot find "${path}" on this machine: it does not exist`);
}

/**
 * Returns the real path of a file to write; its parent folder exists.
 *
 * @throws {AuthorizationError} if it is outside of the folder, or is a symlink
 */
async function writablePath(root: string, path: string): Promise<string> {
  const base = await realpath(root);
  const wanted = resolve(base, path);
  if (!isWithin(base, wanted) || wanted === base) throw outside(path, root);
  const folder = await realpath(dirname(wanted)).catch(() => undefined);
  if (folder === undefined) {
    throw new InvalidArgumentError(`Cannot write "${path}" on this machine: the folder above it does not exist`);
  }
  const place = join(folder, basename(wanted));
  if (!isWithin(base, place)) throw outside(path, root);
  const there = await lstat(place).catch(() => undefined);
  if (there?.isSymbolicLink()) {
    throw new AuthorizationError(`Cannot write "${path}" on this machine: a symlink is there`);
  }
  return place;
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function outside(path: string, root: string): AuthorizationError {
  return new AuthorizationError(`Cannot use "${path}" of this machine: it is outside of ${root}`, {
    remedy: "Only what is below that folder may be copied.",
  });
}
