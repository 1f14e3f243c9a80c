/** Runs the server of E2B's API: watches, API and health port. The import alone has no effect. @module */
import { once } from "node:events";
import { timeAt } from "../kube/api.ts";
import { healthAddress, runClusterProcess } from "../kube/clusterprocess.ts";
import { connect } from "../kube/connection.ts";
import { createHealthApp, createRegistry } from "../process/observability.ts";
import { readAgain, readSecrets } from "../process/secretfile.ts";
import { serve } from "../process/serve.ts";
import { createApp } from "./app.ts";
import { createFollowing } from "./following.ts";
import { createInside } from "./inside.ts";
import { createE2BMetrics } from "./metrics.ts";
import { createKeys } from "./keys.ts";
import type { E2BOptions } from "./options.ts";
import { keepPauses, type Watched } from "./pauses.ts";
import { createSandboxes } from "./sandboxes.ts";
import { createTemplates } from "./templates.ts";

const USER_AGENT = "hookbox-e2b";
/** How long requests that are running may take at the end. A creation takes up to 50 s. */
const GRACE_MS = 55_000;

/** Runs the server until `signal` fires. @throws if there is no usable cluster or secret, or a port is in use */
export async function runE2B(options: E2BOptions, signal: AbortSignal): Promise<void> {
  await runClusterProcess(USER_AGENT, { ...options, otlpEndpoint: undefined }, async (process) => {
    const { serveInternal, log, credentials } = process;
    const secrets = readAgain(() => readSecrets(options.secretFile), "secrets", log);
    const watching = new AbortController();
    const metrics = createE2BMetrics(createRegistry(false));
    const onAnswer = metrics.requested;
    const api = connect(credentials, { signal: watching.signal, userAgent: USER_AGENT, onAnswer });
    const keys = createKeys(api, log, () => timeAt(api));
    const templates = createTemplates(api);
    const following = createFollowing<Watched>();
    const sandboxes = createSandboxes(api, templates, secrets, following);
    const isReady = () => keys.hasSynced() && templates.hasSynced() && !signal.aborted;
    const health = healthAddress({ ...options, port: options.healthPort });
    if (health) await serveInternal(createHealthApp(isReady, metrics), health);
    const watched = { log, signal: watching.signal };
    const watches = [keys.watch(watched), templates.watch(watched), keepPauses(api, watched, following)];
    const app = createApp({
      ...{ keys, sandboxes, templates, metrics, secrets, log },
      inside: createInside(api, secrets, options.routerUrl),
      domain: options.domain,
      prefix: options.pathPrefix,
    });
    const { host } = healthAddress({ ...options, port: 1 }) as { host: string };
    const server = await serve(app, { host, port: options.port, log, graceMs: GRACE_MS });
    log("info", "Serving", { port: server.port, domain: options.domain, prefix: options.pathPrefix });
    if (!signal.aborted) await once(signal, "abort");
    await server.stop();
    watching.abort();
    await Promise.all(watches);
  });
}
