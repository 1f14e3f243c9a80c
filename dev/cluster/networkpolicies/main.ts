/**
 * A process that enforces NetworkPolicies on the real node of a local cluster: it watches objects, and loads a new
 * ruleset at each change. @module
 */
import { spawn } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import type * as z from "zod";
import { connect } from "../../../packages/kube/connection.ts";
import { clusterCredentials } from "../../../packages/kube/credentials.ts";
import { type EventHandler, listAndWatch } from "../../../packages/kube/watch.ts";
import { createLog, errorFields } from "../../../packages/process/log.ts";
import {
  type Namespace,
  namespaceSchema,
  type NetworkPolicy,
  observedOf,
  type Pod,
  podSchema,
  policySchema,
  rulesetOf,
} from "./ruleset.ts";

const HELP = `Usage: main.ts --kubeconfig F --node PID [--nft PATH]

Enforces NetworkPolicies in the network of a process, for tests: on a cluster of one node, by nftables, for IPv4.
`;

const POLICIES_PATH = "/apis/networking.k8s.io/v1/networkpolicies";

const log = createLog();

/** Caches the objects of a watch. @param changed is called when all objects are known, and at each change after that */
function cacheAll<T extends { metadata: { uid?: string | undefined } }>(changed: () => void) {
  const objects = new Map<string, T>();
  let isListed = false;
  const notify = () => isListed && changed();
  const handler: EventHandler<T> = {
    observe: (object) => (objects.set(object.metadata.uid ?? "", object), notify()),
    gone: (uid) => (objects.delete(uid), notify()),
    listed: (uids) => {
      for (const uid of objects.keys()) if (!uids.has(uid)) objects.delete(uid);
      isListed = true;
      notify();
    },
  };
  return { handler, isListed: () => isListed, all: () => [...objects.values()] };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      kubeconfig: { type: "string" },
      node: { type: "string" },
      nft: { type: "string", default: "nft" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return process.stdout.write(HELP), 0;
  const { kubeconfig, node, nft } = values;
  if (kubeconfig === undefined || node === undefined) {
    throw new RangeError("Cannot start: name --kubeconfig and --node");
  }
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stopping.abort());
  const { signal } = stopping;
  const credentials = await clusterCredentials({ kubeconfig, context: undefined });
  const api = connect(credentials, { signal, userAgent: "network-policies" });
  const load = latest((ruleset: string) => loadRuleset(nft, node, ruleset));
  let last = "";
  const changed = () => {
    if (!pods.isListed() || !namespaces.isListed() || !policies.isListed()) return;
    const ruleset = rulesetOf(observedOf(pods.all(), namespaces.all(), policies.all()));
    if (ruleset !== last) load(last = ruleset);
  };
  const pods = cacheAll<Pod>(changed);
  const namespaces = cacheAll<Namespace>(changed);
  const policies = cacheAll<NetworkPolicy>(changed);
  const at = { log, signal };
  const parserOf = <S extends z.ZodType>(schema: S) => (object: unknown) => schema.safeParse(object).data;
  await Promise.all([
    listAndWatch(api, { path: "/api/v1/pods", parse: parserOf(podSchema) }, pods.handler, at),
    listAndWatch(api, { path: "/api/v1/namespaces", parse: parserOf(namespaceSchema) }, namespaces.handler, at),
    listAndWatch(api, { path: POLICIES_PATH, parse: parserOf(policySchema) }, policies.handler, at),
  ]);
  return 0;
}

/** Returns a function that never runs `run` twice in parallel. While it runs, the newest value waits. */
function latest<T>(run: (value: T) => Promise<void>): (value: T) => void {
  let waiting: { value: T } | undefined;
  let isRunning = false;
  const goOn = async () => {
    isRunning = true;
    while (waiting) {
      const { value } = waiting;
      waiting = undefined;
      await run(value).catch((error: unknown) => log("error", "Cannot load the ruleset", errorFields(error)));
    }
    isRunning = false;
  };
  return (value) => {
    waiting = { value };
    if (!isRunning) void goOn();
  };
}

async function loadRuleset(nft: string, node: string, ruleset: string): Promise<void> {
  const running = spawn("nsenter", ["--net", "--target", node, nft, "-f", "-"], { stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  running.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  running.stdin.on("error", () => {}).end(ruleset);
  const code = await new Promise((resolve, reject) => running.on("error", reject).on("close", resolve));
  if (code !== 0) throw new Error(`nft has ended with ${code}: ${errors.slice(0, 2000)}`);
}

main().then((code) => process.exit(code), (error: Error) => {
  log("error", "Cannot enforce NetworkPolicies", errorFields(error));
  process.exit(1);
});
