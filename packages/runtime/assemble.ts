/** Creates the parts of the runtime and connects them, without opening a port. @module */
import process from "node:process";
import type { Log } from "../process/log.ts";
import { createBinding } from "./bind.ts";
import { createOpenRoot, createRoot } from "./confine.ts";
import { createContexts } from "./contexts/contexts.ts";
import { createLegacy } from "./legacy/legacy.ts";
import type { RuntimeOptions } from "./options.ts";
import { createMetrics } from "./processes/metrics.ts";
import { createProcesses } from "./processes/processes.ts";
import { activityOf, createRest } from "./rest/rest.ts";
import { createRoutes, createWebHandler } from "./rpc/routes.ts";
import { createTerminalSockets } from "./terminal/socket.ts";
import { createTokenCheck } from "./token.ts";

/** `stop` aborts when new requests must be refused, `kill` when running ones must end. */
export interface RuntimeSignals {
  stop: AbortSignal;
  kill: AbortSignal;
}

/** Creates one app per port, and the parts that they share. @throws if the root or the working directory cannot be created */
export async function assemble(options: RuntimeOptions, log: Log, signals: RuntimeSignals) {
  const { maxOutput, execTimeout, maxUpload, tokenScope, allowedHosts, podUid } = options;
  const root = options.root === undefined ? await createOpenRoot(options.workdir) : await createRoot(options.root);
  const token = createTokenCheck(options.tokenFile, options.tokenRequired);
  const tokenForAll = tokenScope === "all" ? token : undefined;
  const binding = createBinding(root, options.claimUid !== "");
  const processes = createProcesses({ env: binding.env });
  const contexts = createContexts(root.workdir, binding.env);
  const metrics = createMetrics({
    processes,
    busyContexts: contexts.busy,
    interpreters: () => contexts.list().map(({ kernel }) => kernel.pid),
  });
  const { stop } = signals;
  const routes = createRoutes({ root, processes, contexts, metrics, maxOutput, token: tokenForAll, stop });
  const shared = { root, maxUpload, allowedHosts, touch: processes.touch, log, ...signals };
  const legacy = createLegacy({ ...shared, run: processes.run, execTimeout, maxOutput, token: tokenForAll });
  const metadata = { prefix: options.metadataEnvPrefix, env: process.env };
  const rest = createRest({
    ...shared,
    binding,
    token,
    tokenScope,
    metadata,
    activity: () => activityOf(metrics.read(), new Date()),
    web: createWebHandler(routes),
  });
  const terminals = createTerminalSockets({ root, processes, token: tokenForAll, allowedHosts, stop });
  return {
    apps: { legacy, rest, routes, door: { token: tokenForAll, allowedHosts, podUID: podUid }, terminals },
    processes,
    contexts,
    root,
  };
}
