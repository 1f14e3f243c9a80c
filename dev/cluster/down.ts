/** `npm run down`: ends the cluster of `npm run up` and removes everything it left. @module */
import process from "node:process";
import { notesFolder, sweepClusters } from "./registry.ts";
import { removeCluster } from "./remove.ts";
import { STATE_FOLDER } from "./statefolder.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);
const removed = await removeCluster(STATE_FOLDER);
await sweepClusters(notesFolder(), say);
say(removed ? "The cluster is down; nothing of it is left." : "No cluster is up.");
