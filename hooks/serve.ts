/** Runs several hooks in one process, each at `/<hook>/sync`: `hookbox serve [hook…] --port N`. @module */
import { readCommandLine } from "../packages/process/flags.ts";
import { runServer, serveHooks } from "../packages/webhook/runhook.ts";
import { makeHooks, SERVE } from "./all.ts";

await runServer(SERVE, {
  read(args, env) {
    const line = readCommandLine(SERVE, args, env);
    return line && { settings: line.values, hooks: makeHooks(line.operands, line.values) };
  },
  start: ({ settings, hooks }) => serveHooks(hooks, settings, false),
});
