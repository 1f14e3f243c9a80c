/**
 * A HorizontalPodAutoscaler on a pool, by the keeper's own count of claims: what docs/howto/pools.md says, with an adapter
 * of ours in place of Prometheus and its adapter, which no registry of Go modules has. @module
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { makeCertificate } from "../../dev/cluster/certificates.ts";
import { stepsOf } from "../../dev/docs/codeblocks.ts";
import { PATIENCE_MS } from "../patience.ts";
import { run } from "./kubectl.ts";
import { type Loose, makeNamespace, type Namespace } from "./namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, controllerOf, untilFull } from "./pools.ts";
import { suite } from "./suite.ts";

const PAGE = "docs/howto/pools.md";
const GROUP = "external.metrics.k8s.io";
/** Claims are counted over so long; the page asks Prometheus for two minutes. */
const WINDOW_MS = 20_000;

/** Reads the autoscaler of the page, for a pool of that name. */
function autoscalerFor(pool: string): Loose {
  const text = readFileSync(new URL(`../../${PAGE}`, import.meta.url), "utf8");
  const file = stepsOf(PAGE, text).find(({ file }) => file === "autoscaler.yaml");
  const autoscaler = parse(file?.text ?? "") as Loose;
  autoscaler.spec.scaleTargetRef.name = pool;
  autoscaler.spec.metrics[0].external.metric.selector.matchLabels.pool = pool;
  return autoscaler;
}

/** Serves, as API servers ask for it, how many claims of a pool come in ten seconds, by what the keeper has counted. */
async function serveMetric(ns: Namespace, pool: string): Promise<number> {
  const samples: { at: number; count: number }[] = [];
  const line = new RegExp(
    `^hookbox_pool_claims_total\\{(?=[^}]*namespace="${ns.name}")(?=[^}]*pool="${pool}").*\\} (\\d+)$`,
    "gm",
  );
  const scrape = setInterval(async () => {
    const text = await (await fetch(suite.metricsURL)).text();
    const count = [...text.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
    samples.push({ at: Date.now(), count });
  }, 1000);
  const inTenSeconds = () => {
    const now = samples.at(-1);
    const then = samples.find(({ at }) => now && now.at - at <= WINDOW_MS);
    return now && then && now.at > then.at ? (now.count - then.count) / (now.at - then.at) * 10_000 : 0;
  };
  const { certificate, key } = await makeCertificate({ commonName: "metrics", use: "server", dnsNames: ["localhost"] });
  const apiVersion = `${GROUP}/v1beta1`;
  const server = createServer({ cert: certificate, key }, ({ url = "" }, response) => {
    const items = [{
      metricName: "claims_in_ten_seconds",
      metricLabels: { pool },
      timestamp: new Date().toISOString(),
      value: `${Math.round(inTenSeconds() * 1000)}m`,
    }];
    const resources = [{
      name: "claims_in_ten_seconds",
      namespaced: true,
      kind: "ExternalMetricValueList",
      verbs: ["get"],
    }];
    const body = url.includes("/namespaces/")
      ? { kind: "ExternalMetricValueList", apiVersion, metadata: {}, items }
      : { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    clearInterval(scrape);
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test("an autoscaler adds members when claims take some, and removes what nobody has claimed", async () => {
  const ns = await makeNamespace();
  await ns.apply(aSimulatedTemplate("agents"), aPool("agents", 1));
  await untilFull(ns, "agents");
  const port = await serveMetric(ns, "agents");
  // The name leads API servers to this process.
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "metrics" },
    spec: { type: "ExternalName", externalName: "localhost", ports: [{ port }] },
  };
  await ns.apply(service);
  const registration = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1beta1.${GROUP}` },
    spec: {
      ...{ group: GROUP, version: "v1beta1", groupPriorityMinimum: 100, versionPriority: 100 },
      ...{ service: { namespace: ns.name, name: "metrics", port }, insecureSkipTLSVerify: true },
    },
  };
  await run(ns.cluster, ["apply", "-f", "-"], JSON.stringify(registration));
  onTestFinished(() => run(ns.cluster, ["delete", "apiservice", registration.metadata.name]).then(() => {}));
  const autoscaler = autoscalerFor("agents");
  expect(autoscaler.spec).toMatchObject({
    minReplicas: 1,
    behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
  });
  autoscaler.spec.behavior.scaleDown = { stabilizationWindowSeconds: 0 };
  await ns.apply(autoscaler);

  let claims = 0;
  const replicas = async () => (await ns.get("sandboxwarmpool", "agents"))?.spec.replicas;
  // One claim for every second, however long kubectl takes: ten in ten seconds.
  for (const begun = Date.now(); await replicas() < 5; await sleep(1000)) {
    const passedMs = Date.now() - begun;
    expect(passedMs, await ns.kubectl("get", "hpa", "agents", "-o", "yaml")).toBeLessThan(PATIENCE_MS);
    const due = Math.floor(passedMs / 1000) + 1 - claims;
    await ns.apply(...Array.from({ length: Math.max(1, due) }, () => aClaim(`c-${claims++}`, "agents")));
  }
  await untilFull(ns, "agents");
  await ns.until("sandboxwarmpool", "agents", ({ spec }) => spec.replicas === 1);
  await untilFull(ns, "agents");
  const owners = (await ns.list("sandbox")).map((sandbox) => controllerOf(sandbox)?.kind);
  expect(owners.filter((kind) => kind === "SandboxClaim")).toHaveLength(claims);
});
