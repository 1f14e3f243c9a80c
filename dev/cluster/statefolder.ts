/** Where the cluster of `npm run up` keeps its state: `.hookbox/cluster` of this checkout. @module */
import { fileURLToPath } from "node:url";

export const STATE_FOLDER = fileURLToPath(new URL("../../.hookbox/cluster", import.meta.url));
