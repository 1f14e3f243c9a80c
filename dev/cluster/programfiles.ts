/**
 * Lists the files that programs of this machine need in an image: their shared libraries, at the paths where they look
 * for them. @module
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import type { ImageFile } from "./images.ts";

/** Path of Node in images that are built from this machine's files. */
export const NODE = "/usr/local/bin/node";

/** The files of the Node that runs this process, with its libraries. */
export function nodeFiles(): ImageFile[] {
  return [{ path: NODE, from: process.execPath, mode: 0o755 }, ...librariesFor(process.execPath)];
}

/** Lists the shared libraries that a program needs; none if it is statically linked. */
export function librariesFor(program: string): ImageFile[] {
  // ldd fails for a statically linked program.
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  return librariesOf(stdout).map((path) => ({ path, from: path, mode: 0o755 }));
}

/** Reads the paths of the libraries, including the loader, from the output of `ldd`. */
export function librariesOf(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
}
