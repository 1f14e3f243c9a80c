/** The files of the terminal page, as they are sent. Knows no requests. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** A file in both codings. */
export interface Asset {
  type: string;
  /** Weak, for it stands for both codings. */
  etag: string;
  plain: Buffer;
  gzipped: Buffer;
}

const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** Names under the page's path, and where the files are: beside this one, or in a package. */
const FILES: Record<string, { type: string; from: string }> = {
  "page.js": { type: SCRIPT, from: "./page/page.js" },
  "connection.js": { type: SCRIPT, from: "./page/connection.js" },
  "page.css": { type: STYLE, from: "./page/page.css" },
  "icon.svg": { type: "image/svg+xml", from: "./page/icon.svg" },
  "xterm.js": { type: SCRIPT, from: "@xterm/xterm/lib/xterm.mjs" },
  "xterm.css": { type: STYLE, from: "@xterm/xterm/css/xterm.css" },
  "fit.js": { type: SCRIPT, from: "@xterm/addon-fit/lib/addon-fit.mjs" },
};

/** Returns a file by its name, undefined if there is none of that name. Each is read once, when it is first asked for. */
export function createAssets(): (name: string) => Promise<Asset> | undefined {
  const { resolve } = createRequire(import.meta.url);
  const read = new Map<string, Promise<Asset>>();
  return (name) => {
    const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (!file) return undefined;
    const asset = read.get(name) ?? assetOf(resolve(file.from), file.type);
    read.set(name, asset);
    return asset;
  };
}

async function assetOf(path: string, type: string): Promise<Asset> {
  const plain = await readFile(path);
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type, etag, plain, gzipped: await promisify(gzip)(plain) };
}
