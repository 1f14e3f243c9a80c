/** A folder, and a home directory, for one test. @module */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { onTestFinished } from "vitest";

/** Makes an empty folder that goes with the test; returns its path, without symlinks. */
export function makeTempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "hookbox-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/**
 * Makes a folder the home directory until the test ends; returns its path. Without this, login shells run the start files
 * of the user who runs the tests, which may take a minute.
 */
export function useHome(folder: string = makeTempFolder()): string {
  const before = process.env["HOME"];
  process.env["HOME"] = folder;
  onTestFinished(() => void (process.env["HOME"] = before));
  return folder;
}
