/** A router that is killed while requests wait in it: what it was about to do, another does. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { type ApiProxy, startApiProxy } from "../integration/apiproxy.ts";
import { until } from "../integration/kubectl.ts";
import { type Loose, makeNamespace, type Namespace } from "../integration/namespace.ts";
import { startRouter } from "./router.ts";
import { isReady } from "./runtimepods.ts";
import { askAll, makeSuspended, tally } from "./routerload.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { hasRealNode, suite } from "../integration/suite.ts";

const SANDBOXES = 6;
const EACH = 5;
/** Those that are set to Running before the end; the router never hears that they are. */
const WOKEN = 3;

describe.runIf(hasRealNode)("a router that is killed while it wakes", () => {
  test(
    "has lost no Sandbox: its requests fail at once, and another router answers them",
    async () => {
      const ns = await makeNamespace();
      const names = await makeSuspended(ns, SANDBOXES);
      const proxy = await startProxy();
      let wakes = 0;
      proxy.gate = (line) => !line.startsWith("PATCH ") ? "pass" : wakes++ < WOKEN ? "mute" : "hold";
      const killed = await startRouter("--kubeconfig", kubeconfigOf(proxy));
      const other = await startRouter();

      const lost = askAll(ns, [killed], names, EACH);
      await until(() => killed.metric("sandbox_router_held_requests"), (held) => held === SANDBOXES * EACH);
      await until(() => Promise.resolve(wakes), (count) => count >= SANDBOXES);
      await until(() => running(ns), (all) => all.length >= WOKEN);
      await killed.kill("SIGKILL");
      expect(tally(await lost), "clients hear of it at once").toEqual({ ECONNRESET: SANDBOXES * EACH });
      expect(await running(ns), "nobody else has woken any").toHaveLength(WOKEN);

      const outcomes = await askAll(ns, [other], names, EACH);
      expect(tally(outcomes)).toEqual({ 200: SANDBOXES * EACH });
      expect(outcomes.filter(({ isSame }) => !isSame)).toEqual([]);
      expect(await other.metric("sandbox_router_wakes_total")).toBe(SANDBOXES - WOKEN);
      for (const name of names) {
        // The router sees the Pod become Ready, the Sandbox says so a moment later.
        const sandbox = await ns.until("sandbox", name, isReady);
        expect(sandbox).toMatchObject({ metadata: { generation: 2 }, spec: { operatingMode: "Running" } });
      }
      expect(await ns.list("pod")).toHaveLength(SANDBOXES);
    },
  );
});

async function running(ns: Namespace): Promise<Loose[]> {
  return (await ns.list("sandbox")).filter(({ spec }) => spec.operatingMode === "Running");
}

async function startProxy(): Promise<ApiProxy> {
  const proxy = await startApiProxy(await kubeconfigCredentials(suite.kubeconfig));
  onTestFinished(() => proxy.stop());
  return proxy;
}

/** Writes a kubeconfig that leads through the proxy; it goes with the test. */
function kubeconfigOf({ url }: ApiProxy): string {
  const config = parse(readFileSync(suite.kubeconfig, "utf8"));
  for (const { cluster } of config.clusters) cluster.server = url;
  const folder = makeTempFolder();
  const file = join(folder, "kubeconfig");
  writeFileSync(file, stringify(config), { mode: 0o600 });
  return file;
}
