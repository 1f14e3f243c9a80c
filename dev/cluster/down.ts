/** `npm run down`: ends the cluster of `npm run up` and removes everything it left. @module */
import process from "node:process";
import { removeCluster } from "./remove.ts";
import { STATE_FOLDER } from "./statefolder.ts";

const removed = await removeCluster(STATE_FOLDER);
process.stdout.write(removed ? "The cluster is down; nothing of it is left.\n" : "No cluster is up.\n");
