/** Recordings for tests, without the process that would write them. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Exchange, exchangeLine, headerLine } from "../../../packages/webhook/exchange.ts";
import type { HookSettings } from "../../../hooks/flags.ts";
import { settingsOf } from "../../hooksettings.ts";
import { makeTempFolder } from "../../tempfolder.ts";

/** What the recorded hooks are made with. */
export const SETTINGS: HookSettings = settingsOf("--readiness-grace-seconds", "3");

/** Writes a recording into a folder of the test; returns the folder. */
export function recordedIn(
  exchanges: readonly Exchange[],
  settings: object,
): string {
  const folder = makeTempFolder();
  writeRecording(join(folder, "hooks-p-000001.jsonl"), exchanges, settings);
  return folder;
}

/** Writes one file of a recording. */
export function writeRecording(
  path: string,
  exchanges: readonly Exchange[],
  settings: object,
): void {
  const first = headerLine({ recording: 1, process: "p", settings: { ...settings } });
  writeFileSync(
    path,
    [first, ...exchanges.flatMap(exchangeLine)].map((part) => new TextDecoder().decode(part)).join(""),
  );
}
