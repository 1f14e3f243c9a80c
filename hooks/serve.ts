/** `npm run serve -- [hook…] --port N`: several hooks in one process, each under `/<hook>/sync`. @module */
import { main, serveHooks } from "../packages/webhook/runhook.ts";
import { hookNames, makeHooks } from "./all.ts";

const USAGE = `npm run serve -- [hook…] [options]

Serves hooks in one process, each at /<hook>/sync; all of them (${hookNames.join(", ")}) if none is named.`;

await main(USAGE, ({ settings, positionals }) => serveHooks(makeHooks(positionals, settings), settings, false));
