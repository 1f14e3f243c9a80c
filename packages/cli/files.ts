/** Reads files that are named on the command line. @module */
import { Failure } from "./failure.ts";

/** Common reasons why a file cannot be read, in plain words. */
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

/**
 * Runs a function that reads a file, and explains its errors in plain words.
 *
 * @throws {Failure} instead of the system's errors
 */
export async function readingFile<T>(file: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Failure(`Cannot read ${file}: ${REASONS[code] ?? message}`);
  }
}
