/** A folder on a file system of its own that can be filled; mounting it takes root. @module */
import { execFileSync } from "node:child_process";
import { closeSync, cpSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface SmallDisk {
  /** Takes all room that is left. */
  fill(): void;
  /** Gives that room back. */
  free(): void;
  /** Puts the folder, with what is in it, where it was before. */
  giveBack(): void;
}

/** For etcd's log, which grows by 64 MB at a time, and its database. */
const SIZE = "512m";
const CHUNKS = [1 << 20, 1 << 12, 1].map((bytes) => new Uint8Array(bytes));

/** Moves a folder that nobody uses at the moment. @throws {Error} if this process may not mount */
export function smallDisk(folder: string): SmallDisk {
  const aside = `${folder}.aside`;
  const filler = join(folder, "filler");
  const copy = (from: string, to: string) => cpSync(from, to, { recursive: true, preserveTimestamps: true });
  renameSync(folder, aside);
  mkdirSync(folder, { mode: 0o700 });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=0700`, "tmpfs", folder]);
  copy(aside, folder);
  return {
    fill() {
      const file = openSync(filler, "w");
      for (const chunk of CHUNKS) while (hasRoomFor(file, chunk));
      closeSync(file);
    },
    free: () => rmSync(filler),
    giveBack() {
      rmSync(aside, { recursive: true });
      copy(folder, aside);
      execFileSync("umount", [folder]);
      rmSync(folder, { recursive: true });
      renameSync(aside, folder);
    },
  };
}

function hasRoomFor(file: number, chunk: Uint8Array): boolean {
  try {
    return writeSync(file, chunk) === chunk.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}
