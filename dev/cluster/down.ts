/**
 * `npm run down`: stops the cluster of `npm run up`, and removes everything that it or a kept demo has left. @module
 */
import { rmSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { COPY, LOGS } from "../demo/stage.ts";
import { removeAbandonedClusters, removeCluster } from "./remove.ts";
import { notesFolder, STATE_FOLDER } from "./state.ts";

const HELP = `Usage: npm run down

Ends the cluster of "npm run up" (or of "npm run demo -- --keep") and removes everything it left.
`;

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: "boolean", default: false } } });
  if (values.help) return say(HELP);
  const removed = await removeCluster(STATE_FOLDER);
  await removeAbandonedClusters(notesFolder(), say);
  // The logs of a failed demo stay: its cluster was removed before.
  if (removed) { for (const folder of [COPY, LOGS]) rmSync(folder, { recursive: true, force: true }); }
  say(removed ? "The cluster is down; nothing of it is left." : "No cluster is up.");
}

main().catch((error: Error) => {
  say(error.message);
  process.exitCode = 1;
});
