/** Creates the parts of the runtime and connects them, without opening a port. @module */
import process from "node:process";
import type { Log } from "../process/log.ts";
import { afterDelivery, createBinding, startsScripts } from "./bind.ts";
import { createOpenRoot, createRoot } from "./confine.ts";
import { createContexts } from "./contexts/contexts.ts";
import { createEnvd } from "./e2b/envd/envd.ts";
import { createInterpreter } from "./e2b/interpreter/interpreter.ts";
import { createLegacy } from "./legacy/legacy.ts";
import type { RuntimeOptions } from "./options.ts";
import type { BoundVariables } from "./processes/command.ts";
import { createMetrics } from "./processes/metrics.ts";
import { createProcesses } from "./processes/processes.ts";
import { type ActivityAnswer, activityOf, createRest, sumOfActivity } from "./rest/rest.ts";
import { createRoutes, createWebHandler } from "./rpc/routes.ts";
import { createTerminalSockets } from "./terminal/socket.ts";
import { createTokenCheck, type TokenCheck } from "./token.ts";
import { ONE_USER, type Users } from "./users/users.ts";
import { readFrom } from "./users/userruntime.ts";

/** `stop` aborts when new requests must be refused, `kill` when running ones must end. */
export interface RuntimeSignals {
  stop: AbortSignal;
  kill: AbortSignal;
}

/** What differs between the runtime of a sandbox and that of another user in it. */
export interface Assembly {
  /** @default every call runs in this process */
  users?: Users;
  /** Checks the token. @default that of the options' file */
  token?: TokenCheck;
  /** Returns bound variables. @default those that this runtime keeps */
  env?: BoundVariables | undefined;
}

/** Creates one app per port, and the parts that they share. @throws if the root or the working directory cannot be created */
export async function assemble(options: RuntimeOptions, log: Log, signals: RuntimeSignals, assembly: Assembly = {}) {
  const { maxOutput, execTimeout, maxUpload, tokenScope, allowedHosts, podUid } = options;
  const { users = ONE_USER } = assembly;
  const files = options.root === undefined ? await createOpenRoot(options.workdir) : await createRoot(options.root);
  const token = assembly.token ?? createTokenCheck(options.tokenFile, options.tokenRequired);
  const tokenForAll = tokenScope === "all" ? token : undefined;
  const isAwaited = options.claimUid !== "";
  const binding = createBinding(files, startsScripts(files, () => processes), isAwaited);
  const env = assembly.env ?? binding.env;
  const root = isAwaited ? afterDelivery(files, env) : files;
  const processes = createProcesses({ env });
  const contexts = createContexts(root.workdir, env);
  const metrics = createMetrics({
    processes,
    busyContexts: contexts.busy,
    interpreters: () => contexts.list().map(({ kernel }) => kernel.pid),
  });
  const { stop } = signals;
  const routes = createRoutes({ root, processes, contexts, metrics, maxOutput, token: tokenForAll, stop, users });
  const shared = { root, maxUpload, allowedHosts, touch: processes.touch, log, users, ...signals };
  const legacy = createLegacy({ ...shared, run: processes.run, execTimeout, maxOutput, token: tokenForAll });
  const metadata = { prefix: options.metadataEnvPrefix, env: process.env };
  const rest = createRest({
    ...shared,
    binding,
    token,
    tokenScope,
    metadata,
    activity: async () => {
      const own = activityOf(metrics.read(), new Date());
      // A runtime that has just ended has no activity.
      const others = users.others().map((other) => readFrom<ActivityAnswer>(other, "/v1/activity").catch(() => []));
      return sumOfActivity(own, (await Promise.all(others)).flat());
    },
    web: createWebHandler(routes),
  });
  const envd = createEnvd({ ...shared, processes, metrics, env, token: tokenForAll });
  const interpreter = createInterpreter({ ...shared, contexts, token: tokenForAll });
  const terminals = createTerminalSockets({ root, processes, token: tokenForAll, allowedHosts, stop, users });
  return {
    apps: {
      ...{ legacy, rest, envd, interpreter, routes, terminals },
      door: { token: tokenForAll, allowedHosts, podUID: podUid },
    },
    processes,
    contexts,
    root,
    env,
    kill: signals.kill,
  };
}
