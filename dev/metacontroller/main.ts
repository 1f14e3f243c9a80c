/** Runs the fake Metacontroller as a process. It accepts those flags of the real one that matter here. @module */
import { KubeConfig } from "@kubernetes/client-node";
import { createServer } from "node:http";
import process from "node:process";
import { parseArgs } from "node:util";
import { startFakeMetacontroller } from "../../packages/testing/metacontroller/metacontroller.ts";
import { createApiStore } from "./store-api.ts";

const HELP = `Usage: npm run standin -- --kubeconfig F [options]

Runs the controllers of a development cluster in place of Metacontroller. Production runs Metacontroller.

  --kubeconfig F                     which cluster (default: as kubectl chooses)
  --context C                        context of the kubeconfig (default: its current one)
  --workers N                        syncs at once, per controller (default 5)
  --health-probe-bind-address A:P    where to answer /readyz (default: nowhere)
  --help                             this text

Other flags of Metacontroller that would change nothing here are taken and ignored.
`;

/** Flags of the real Metacontroller about its client, its discovery and its log. They have no effect. */
const IGNORED = ["client-go-qps", "client-go-burst", "discovery-interval", "zap-log-level", "metrics-address"];

interface Options {
  kubeConfig: KubeConfig;
  workers: number;
  healthAddress: string | undefined;
}

function log(message: string, fields: Record<string, unknown> = {}): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), message, ...fields })}\n`);
}

/** Reads the command line; undefined: the user has asked for help. */
function readOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      kubeconfig: { type: "string" },
      context: { type: "string" },
      workers: { type: "string", default: "5" },
      "health-probe-bind-address": { type: "string" },
      help: { type: "boolean", default: false },
      ...Object.fromEntries(IGNORED.map((flag) => [flag, { type: "string" as const }])),
    },
  });
  if (values.help) return undefined;
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) {
    throw new RangeError(`Cannot start ${values.workers} workers: not a positive number`);
  }
  const kubeConfig = new KubeConfig();
  if (values.kubeconfig === undefined) kubeConfig.loadFromDefault();
  else kubeConfig.loadFromFile(values.kubeconfig);
  if (values.context !== undefined) kubeConfig.setCurrentContext(values.context);
  return { kubeConfig, workers, healthAddress: values["health-probe-bind-address"] };
}

function run({ kubeConfig, workers, healthAddress }: Options): void {
  log("this is hookbox's fake Metacontroller, not Metacontroller: for development and tests only", {
    server: kubeConfig.getCurrentCluster()?.server,
    workers,
  });
  const metacontroller = startFakeMetacontroller({ store: createApiStore(kubeConfig, { log }), workers, log });
  if (healthAddress !== undefined) {
    const colon = healthAddress.lastIndexOf(":");
    createServer((_, response) => void metacontroller.ready().then(() => response.end("ok")))
      .listen(Number(healthAddress.slice(colon + 1)), healthAddress.slice(0, colon) || undefined);
  }
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stopping = true;
      log("stopping", { signal });
      void metacontroller.stop().then(() => process.exit(0));
    });
  }
}

try {
  const options = readOptions();
  if (options) run(options);
  else process.stdout.write(HELP);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
