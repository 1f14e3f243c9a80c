/** `hookbox serve [hook…] --port N`: several hooks in one process, each under `/<hook>/sync`. @module */
import { runServer, serveHooks } from "../packages/webhook/runhook.ts";
import { HOOK_OPTIONS, hookNames, makeHooks, readSettings } from "./all.ts";

await runServer({
  usage: `hookbox serve [hook…] [options]

Serves hooks in one process, each at /<hook>/sync; all of them (${hookNames.join(", ")}) if none is named.`,
  help: HOOK_OPTIONS,
  read(args) {
    const { settings, positionals, help } = readSettings(args);
    return { settings, help, hooks: help ? [] : makeHooks(positionals, settings) };
  },
  start: ({ settings, hooks }) => serveHooks(hooks, settings, false),
});
