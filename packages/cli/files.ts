/** Reads files that a command line names. @module */
import { Failure } from "./failure.ts";

/** What most often keeps a file from being read, without the name of a system call. */
const REASONS: Record<string, string> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "you may not read it",
};

/** Reads a file as text. @throws {Failure} if it cannot be read */
export async function contentOf(file: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  return await readingFile(file, () => readFile(file, "utf8"));
}

/** Runs what reads a file, and says in plain words why it cannot. @throws {Failure} in place of the system's errors */
export async function readingFile<T>(file: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Failure(`Cannot read ${file}: ${REASONS[code] ?? message}`);
  }
}
