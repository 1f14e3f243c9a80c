/** Two Pods with the same address, because the router missed the end of one: the address belongs to the younger Pod. @module */
import { describe, expect, test } from "vitest";
import { reachabilityOf } from "../../../packages/router/index/reachability.ts";
import { readPod, readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";

const AT = "10.0.0.7";
const OLD = "2026-11-27T00:00:00Z";
const YOUNG = "2026-11-27T00:00:01Z";

const sandbox = (name: string, namespace: string) =>
  readSandbox({ metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: "1" }, spec: {} })!;

interface Over {
  created?: string;
  ips?: string[];
  phase?: string;
  spec?: object;
  deleting?: boolean;
}

/** A Ready Pod of the Sandbox `of`, in its namespace. */
function pod(of: string, namespace: string, { created, ips = [AT], phase = "Running", spec, deleting }: Over = {}) {
  const owner = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name: of,
    uid: `uid-${of}`,
    controller: true,
  };
  const metadata = {
    ...{ name: of, namespace, uid: `pod-${of}`, ownerReferences: [owner] },
    ...created === undefined ? {} : { creationTimestamp: created },
    ...deleting ? { deletionTimestamp: YOUNG } : {},
  };
  const status = { phase, podIPs: ips.map((ip) => ({ ip })), conditions: [{ type: "Ready", status: "True" }] };
  return readPod({ apiVersion: "v1", kind: "Pod", metadata, spec, status }, true)!;
}

/** Two Sandboxes of two teams; `a` is the one that others are held against. */
function start() {
  const freed: string[] = [];
  const index = createSandboxIndex((ips) => freed.push(...ips));
  index.sandboxes.observe(sandbox("a", "team-a"));
  index.sandboxes.observe(sandbox("b", "team-b"));
  const state = (name: "a" | "b") => {
    const namespace = `team-${name}`;
    return reachabilityOf({ namespace, name, port: 80 }, index.find(namespace, name), 0).state;
  };
  return { index, freed, states: () => [state("a"), state("b")] };
}

const cases: [string, Over, Over, string[]][] = [
  ["the younger one has it", { created: OLD }, { created: YOUNG }, ["starting", "reachable"]],
  ["one that nobody knows the age of is the older", {}, { created: OLD }, ["starting", "reachable"]],
  ["of the same age nobody can tell", { created: OLD }, { created: OLD }, ["starting", "starting"]],
  ["any of its addresses counts", { created: OLD, ips: ["10.0.0.1", AT] }, { created: YOUNG }, [
    "starting",
    "reachable",
  ]],
  ["one that is on its way out has it still", { created: OLD }, { created: YOUNG, deleting: true }, [
    "starting",
    "starting",
  ]],
  ["one that has ended has none", { created: OLD }, { created: YOUNG, phase: "Failed" }, ["reachable", "reachable"]],
  ["one on the node's network has none of its own", { created: OLD }, { created: YOUNG, spec: { hostNetwork: true } }, [
    "reachable",
    "refused",
  ]],
  ["other addresses are others'", { created: OLD }, { created: YOUNG, ips: ["10.0.0.8"] }, ["reachable", "reachable"]],
  ["on one machine all have the same", { created: OLD, ips: ["127.0.0.1"] }, { created: YOUNG, ips: ["127.0.0.1"] }, [
    "reachable",
    "reachable",
  ]],
];

describe("two Pods at one address", () => {
  test.for(cases)("%s", ([, a, b, want]) => {
    for (const isReversed of [false, true]) {
      const { index, states } = start();
      const pods = [pod("a", "team-a", a), pod("b", "team-b", b)];
      for (const one of isReversed ? pods.reverse() : pods) index.pods.observe(one);
      expect(states()).toEqual(want);
    }
  });

  test("the older one has it again once the younger is gone, or has another", () => {
    const { index, freed, states } = start();
    index.pods.observe(pod("a", "team-a", { created: OLD }));
    index.pods.observe(pod("b", "team-b", { created: YOUNG }));
    expect(freed, "kept connections lead to the other Pod").toEqual([AT]);
    index.pods.observe(pod("b", "team-b", { created: YOUNG, ips: ["10.0.0.9"] }));
    expect(states()).toEqual(["reachable", "reachable"]);
    index.pods.observe(pod("b", "team-b", { created: YOUNG }));
    expect(states()).toEqual(["starting", "reachable"]);
    index.pods.gone("pod-b");
    expect(states()).toEqual(["reachable", "starting"]);
  });

  test("says why the older one's sandbox is not reached", () => {
    const { index } = start();
    index.pods.observe(pod("a", "team-a", { created: OLD }));
    index.pods.observe(pod("b", "team-b", { created: YOUNG }));
    expect(reachabilityOf({ namespace: "team-a", name: "a", port: 80 }, index.find("team-a", "a"), 0)).toMatchObject({
      cause: "another Pod has the address of its Pod by now",
    });
  });
});
