/** What programs of this machine take to run in an image: the shared libraries, where each looks for them. @module */
import { spawnSync } from "node:child_process";
import process from "node:process";
import type { ImageFile } from "./images.ts";

/** Where Node is in images that are made on the spot. */
export const NODE = "/usr/local/bin/node";

/** The Node that runs this, with its libraries. */
export function nodeFiles(): ImageFile[] {
  return [{ path: NODE, from: process.execPath, mode: 0o755 }, ...librariesFor(process.execPath)];
}

/** The shared libraries that a program needs; none if it is linked statically. */
export function librariesFor(program: string): ImageFile[] {
  // A program that is linked statically makes ldd fail.
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  return librariesOf(stdout).map((path) => ({ path, from: path, mode: 0o755 }));
}

/** Reads the paths of libraries out of what `ldd` says, the loader's among them. */
export function librariesOf(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
}
