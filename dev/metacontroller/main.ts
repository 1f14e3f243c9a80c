/** Runs the stand-in for Metacontroller as a process, with the flags of the real one that matter here. @module */
import { KubeConfig } from "@kubernetes/client-node";
import { createServer } from "node:http";
import process from "node:process";
import { parseArgs } from "node:util";
import { startEngine } from "./engine.ts";
import { createApiStore } from "./store-api.ts";

const { values } = parseArgs({
  options: {
    kubeconfig: { type: "string" },
    context: { type: "string" },
    workers: { type: "string", default: "5" },
    "health-probe-bind-address": { type: "string" },
  },
});

function log(message: string, fields: Record<string, unknown> = {}): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), message, ...fields })}\n`);
}

const workers = Number(values.workers);
if (!Number.isInteger(workers) || workers < 1) {
  throw new RangeError(`Cannot start ${values.workers} workers: not a positive number`);
}
const kubeConfig = new KubeConfig();
if (values.kubeconfig === undefined) kubeConfig.loadFromDefault();
else kubeConfig.loadFromFile(values.kubeconfig);
if (values.context !== undefined) kubeConfig.setCurrentContext(values.context);

log("this is hookbox's stand-in, not Metacontroller: for development and tests only", {
  server: kubeConfig.getCurrentCluster()?.server,
  workers,
});
const engine = startEngine({ store: createApiStore(kubeConfig, { log }), workers, log });
const health = createServer((_, response) => void engine.ready().then(() => response.end("ok")));
const address = values["health-probe-bind-address"];
if (address !== undefined) {
  health.listen(Number(address.slice(address.lastIndexOf(":") + 1)), address.slice(0, address.lastIndexOf(":")));
}

let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (stopping) process.exit(1);
    stopping = true;
    log("stopping", { signal });
    void engine.stop().then(() => process.exit(0));
  });
}
