/** Starts hookbox from a checkout: its CRDs, hooks, Metacontrollers, keeper and binder. @module */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { type Document, parseAllDocuments } from "yaml";
import { SHARD_LABEL } from "../../../packages/api/objects/keys.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { freePorts } from "../../cluster/ports.ts";
import { type ProcessRecord, startProcess, untilAnswering } from "../../cluster/processes.ts";
import { type StartedMetacontroller, startMetacontroller } from "../../metacontroller/start.ts";
import type { Profiler } from "../measure/profiles.ts";
import { type Layout, SHARDS } from "./layout.ts";
import type { Controllers } from "./local.ts";

/** What to start, and where to write its logs. */
interface Start {
  checkout: string;
  layout: Layout;
  /** The folder for logs. */
  folder: string;
  /** Every process is added when it starts, so that the caller can end it in any case. */
  started: ProcessRecord[];
  signal: AbortSignal;
  profiler?: Profiler | undefined;
}

/** Label on controllers: the Metacontroller that runs them. */
const METACONTROLLER_LABEL = "bench.hookbox/engine";

/**
 * Returns hookbox as an implementation. @param checkout root of the checkout whose hooks, controllers and keeper run;
 * its packages must be installed
 */
export function hookboxControllers(checkout: string, layout: Layout): Controllers {
  return {
    async crds() {
      return (await partOf<typeof import("../../crds.ts")>(checkout, "dev/crds.ts")).localCRDs();
    },
    async start({ cluster, stops, ...context }) {
      const start = { ...context, checkout, layout };
      const { urls: hookURLs, urlOf } = await startHooks(start);
      const metacontrollers: StartedMetacontroller[] = [];
      stops.push(() => Promise.all(metacontrollers.map((metacontroller) => metacontroller.stop())));
      await startMetacontrollers(start, cluster, urlOf, metacontrollers);
      startKeeperAndBinder(start, cluster.kubeconfig);
      return {
        hookURLs,
        metacontrollers: metacontrollers.map(({ pid }, index) => ({
          name: index === 0 ? "engine" : `engine ${index + 1}`,
          pid,
        })),
        metacontroller: metacontrollerName(metacontrollers),
      };
    },
  };
}

function metacontrollerName([first]: StartedMetacontroller[]): string {
  return `${first?.kind === "real" ? "Metacontroller" : "the fake Metacontroller"} ${first?.version}`;
}

/** Starts the hooks, and resolves when all of them answer. */
async function startHooks(start: Start): Promise<{ urls: string[]; urlOf: (hook: string) => string }> {
  const { checkout, layout } = start;
  const { hookNames } = await partOf<typeof import("../../../hooks/all.ts")>(checkout, "hooks/all.ts");
  const groups = layout.together ? [{ name: "hooks", hooks: hookNames }] : hookNames.map((name) => ({
    name,
    hooks: [name],
  }));
  const ports = await freePorts(groups.length);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  await Promise.all(groups.map(async ({ name, hooks }, index) => {
    const args = [...hooks, "--host", "127.0.0.1", "--port", String(ports[index])];
    const record = startScript(start, name, "hooks/serve.ts", args, ["--allow-net=127.0.0.1"]);
    await untilAnswering(`${urls[index]}/healthz`, record, start.signal);
  }));
  return { urls, urlOf: (hook) => urls[groups.findIndex(({ hooks }) => hooks.includes(hook))] ?? "" };
}

/** Starts the keeper and the binder, one of each. */
function startKeeperAndBinder(start: Start, kubeconfig: string): void {
  const permissions = ["--allow-net", "--allow-read", "--allow-env", "--allow-sys"];
  const args = ["--kubeconfig", kubeconfig, "--no-leader-election"];
  const { keeperBinds } = start.layout;
  startScript(
    start,
    "keeper",
    "packages/keeper/main.ts",
    [...args, ...(keeperBinds ? [] : ["--no-binder"])],
    permissions,
  );
  if (!keeperBinds) startScript(start, "binder", "packages/binder/main.ts", args, permissions);
}

function startScript(
  { checkout, layout, folder, started, profiler }: Start,
  name: string,
  script: string,
  args: string[],
  permissions: string[],
): ProcessRecord {
  const [command, ...before] = layout.runtime === "deno"
    // Deno's own binary. The script in node_modules/.bin would stay as a process of its own.
    ? [join(checkout, "node_modules/deno/deno"), "run", "--quiet", ...permissions]
    : [process.execPath, ...(profiler?.nodeArgs(name) ?? [])];
  const logFile = join(folder, "logs", `${name}.log`);
  const record = startProcess({
    name,
    command: command ?? "",
    args: [...before, join(checkout, script), ...args],
    logFile,
  });
  started.push(record);
  return record;
}

/** Loads a module of a checkout. Each checkout defines itself what it serves and how it is installed. */
async function partOf<T>(checkout: string, path: string): Promise<T> {
  return await import(pathToFileURL(join(checkout, path)).href) as T;
}
const [FIRST, SECOND] = SHARDS;

/**
 * Applies CRDs and controllers, and starts the Metacontrollers. Each is added to `started` as soon as it has started,
 * so that the caller can end it.
 */
async function startMetacontrollers(
  { checkout, layout, folder, profiler }: Start,
  cluster: Cluster,
  urlOf: (hook: string) => string,
  started: StartedMetacontroller[],
): Promise<void> {
  const render = await partOf<typeof import("../../../packages/manifests/render.ts")>(
    checkout,
    "packages/manifests/render.ts",
  );
  const apply = ["--kubeconfig", cluster.kubeconfig, "apply", "--server-side", "--force-conflicts"];
  const input = divideControllers(render.renderManifests(urlOf), layout.engines);
  execFileSync(cluster.kubectl, [...apply, "-f", "-"], { input, stdio: "pipe" });
  const policy = join(checkout, "deploy/managedfields");
  // Older checkouts do not have the policy.
  if (existsSync(policy)) execFileSync(cluster.kubectl, [...apply, "-k", policy], { stdio: "pipe" });
  for (const name of layout.engines === "one" ? [""] : SHARDS) {
    started.push(
      await startMetacontroller({
        kubeconfig: cluster.kubeconfig,
        logFile: join(folder, `logs/engine${name}.log`),
        progress: () => {},
        env: layout.engineEnv ?? {},
        flags: [
          // Tests use an interval of one second. Here, these requests would count.
          "--discovery-interval=20s",
          ...(name === "" ? [] : [`--target-label-selector=${METACONTROLLER_LABEL}=${name}`]),
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
export function divideControllers(manifests: string, engines: Layout["engines"]): string {
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
  copy.setIn(["metadata", "labels"], copy.createNode({ [METACONTROLLER_LABEL]: engine }));
  return copy;
}
