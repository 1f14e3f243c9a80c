/** The folder of the cluster of `npm run up`: `.hookbox/cluster` in this checkout. @module */
import { fileURLToPath } from "node:url";

export const STATE_FOLDER = fileURLToPath(new URL("../../.hookbox/cluster", import.meta.url));
