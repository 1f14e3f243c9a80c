/** The examples are applied as they are, each in order of what it needs, and become Ready. @module */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { makeNamespace } from "../integration/namespace.ts";
import { needsRuntime } from "./runtimepods.ts";
import { untilFull, untilReady } from "../integration/pools.ts";
import { hasRealNode } from "../integration/suite.ts";

const FOLDER = new URL("../../examples/", import.meta.url);
const read = (file: string) =>
  parseAllDocuments(readFileSync(new URL(file, FOLDER), "utf8")).map((document) => document.toJS());

test("every example is one of those that are tried here", () => {
  expect(readdirSync(FOLDER).sort()).toEqual([
    "agent.yaml",
    "claim.yaml",
    "pool.yaml",
    "python.yaml",
    "sandbox.yaml",
    "template.yaml",
  ]);
});

test("template, pool and claim, in whatever order they are applied: the pool fills and the claim gets a sandbox", async () => {
  const ns = await makeNamespace();
  await ns.apply(...read("claim.yaml"), ...read("pool.yaml"), ...read("template.yaml"));
  const claim = await untilReady(ns, "session");
  await untilFull(ns, "agents");
  const hasLabel = (pod: { metadata: { labels: Record<string, string> } }) =>
    pod.metadata.labels["sandbox.users.io/user"] === "ada";
  await ns.until("pod", claim.status.sandbox.name, hasLabel);
  const policy = await ns.get("networkpolicy", "agent-network-policy");
  expect(policy.spec.podSelector.matchLabels).toEqual({
    "agents.x-k8s.io/sandbox-template-ref-hash": (await ns.get("sandboxtemplate", "agent"))
      .metadata.labels["agents.x-k8s.io/sandbox-template-ref-hash"],
  });
});

test("the sandbox becomes Ready", async () => {
  const ns = await makeNamespace();
  await ns.apply(...read("sandbox.yaml"));
  expect(await ns.untilReason("demo", "DependenciesReady")).toMatchObject({ status: { service: "demo" } });
});

test(
  "the sandbox with the runtime becomes Ready, which means that it takes commands",
  { timeout: 600_000 },
  async () => {
    if (hasRealNode) await needsRuntime();
    const ns = await makeNamespace();
    await ns.apply(...read("agent.yaml"));
    await ns.untilReason("agent", "DependenciesReady");
    expect(await ns.get("pvc", "work-agent")).toMatchObject({ metadata: { name: "work-agent" } });
  },
);

test("the pool with the runtime fills", { timeout: 600_000 }, async () => {
  if (hasRealNode) await needsRuntime();
  const ns = await makeNamespace();
  await ns.apply(...read("python.yaml"));
  await untilFull(ns, "python");
});
