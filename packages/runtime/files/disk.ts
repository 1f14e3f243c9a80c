/** Reads how full the disk of the root is. @module */
import { statfs } from "node:fs/promises";
import type { Root } from "../confine.ts";

/** Bytes and files of the file system that contains the root. */
export interface DiskMetrics {
  total_bytes: number;
  used_bytes: number;
  /** Bytes available to the runtime's user. Less than total - used if the system keeps a reserve. */
  available_bytes: number;
  total_files: number;
  free_files: number;
}

/** Reads the numbers from the file system. @throws in Deno without `--allow-sys=statfs` */
export async function readDisk(root: Root): Promise<DiskMetrics> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(root.path);
  return {
    total_bytes: blocks * bsize,
    used_bytes: (blocks - bfree) * bsize,
    available_bytes: bavail * bsize,
    total_files: files,
    free_files: ffree,
  };
}
