/** A folder for one test. @module */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Makes an empty folder that goes with the test; returns its path, without symlinks. */
export function makeTempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "hookbox-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
