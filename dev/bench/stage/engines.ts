/** Installs the controllers of a checkout, and starts the one or two Metacontrollers that run them. @module */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Document, parseAllDocuments } from "yaml";
import type { Cluster } from "../../cluster/cluster.ts";
import { type StartedMetacontroller, startMetacontroller } from "../../metacontroller/start.ts";
import { SHARD_LABEL } from "../../../packages/api/objects/keys.ts";
import { partOf, type Start } from "./hooks.ts";
import { type Layout, SHARDS } from "./layout.ts";

/** Label on controllers: the Metacontroller that runs them. */
const ENGINE_LABEL = "bench.hookbox/engine";
const [FIRST, SECOND] = SHARDS;

/**
 * Applies CRDs and controllers, and starts the Metacontrollers. Each is added to `engines` as soon as it has started,
 * so that the caller can end it.
 */
export async function startEngines(
  { checkout, layout, folder, profiler }: Start,
  cluster: Cluster,
  urlOf: (hook: string) => string,
  engines: StartedMetacontroller[],
): Promise<void> {
  const render = await partOf<typeof import("../../../packages/manifests/render.ts")>(
    checkout,
    "packages/manifests/render.ts",
  );
  const apply = ["--kubeconfig", cluster.kubeconfig, "apply", "--server-side", "--force-conflicts"];
  const input = sharedOut(render.renderManifests(urlOf), layout.engines);
  execFileSync(cluster.kubectl, [...apply, "-f", "-"], { input, stdio: "pipe" });
  const policy = join(checkout, "deploy/managedfields");
  // Older checkouts do not have the policy.
  if (existsSync(policy)) execFileSync(cluster.kubectl, [...apply, "-k", policy], { stdio: "pipe" });
  for (const name of layout.engines === "one" ? [""] : SHARDS) {
    engines.push(
      await startMetacontroller({
        kubeconfig: cluster.kubeconfig,
        logFile: join(folder, `logs/engine${name}.log`),
        progress: () => {},
        env: layout.engineEnv ?? {},
        flags: [
          // Tests use an interval of one second. Here, these requests would count.
          "--discovery-interval=20s",
          ...(name === "" ? [] : [`--target-label-selector=${ENGINE_LABEL}=${name}`]),
          ...(name === SECOND ? [] : profiler?.engineArgs ?? []),
        ],
      }),
    );
  }
}

/**
 * Labels each controller with its Metacontroller. If the objects are divided by shard, there are two controllers each
 * for Sandboxes and pools.
 */
export function sharedOut(manifests: string, engines: Layout["engines"]): string {
  if (engines === "one") return manifests;
  const documents = (parseAllDocuments(manifests) as Document[]).flatMap((document) => {
    if (document.get("apiVersion") !== "metacontroller.k8s.io/v1alpha1") return [document];
    const isPools = document.getIn(["metadata", "name"]) === "sandboxwarmpool";
    if (engines === "by-controller") return [labelled(document, isPools ? SECOND : FIRST)];
    if (document.get("kind") !== "CompositeController") return [labelled(document, FIRST)];
    return [shard(document, FIRST, "NotIn"), shard(document, SECOND, "In")];
  });
  return documents.map((document) => document.toString({ lineWidth: 0, directives: true })).join("");
}

function shard(controller: Document, engine: string, operator: "In" | "NotIn"): Document {
  const copy = labelled(controller, engine);
  if (operator === "In") copy.setIn(["metadata", "name"], `${copy.getIn(["metadata", "name"])}-${SECOND}`);
  const expression = { key: SHARD_LABEL, operator, values: [SECOND] };
  copy.setIn(["spec", "parentResource", "labelSelector"], copy.createNode({ matchExpressions: [expression] }));
  return copy;
}

function labelled(controller: Document, engine: string): Document {
  const copy = controller.clone();
  copy.setIn(["metadata", "labels"], copy.createNode({ [ENGINE_LABEL]: engine }));
  return copy;
}
