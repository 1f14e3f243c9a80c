/** The contract's checklist, items 6 and 7: which reasons end a client's wait, and which do not. @module */
import { expect, test } from "vitest";
import { faultsOf, followClaims } from "../integration/history.ts";
import { condition, type Loose, makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aClaim, aPool, aSimulatedTemplate, aTemplate, untilFull, untilReady } from "../integration/pools.ts";
import { needsClient, runProgram, startProgram } from "./program.ts";
import { versionsUpTo } from "./seen.ts";
import { hasRealNode } from "../integration/suite.ts";

needsClient();

const VOLUME = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};
const PAST = { shutdownTime: "2020-01-01T00:00:00Z", shutdownPolicy: "Retain" };
const LONG = "x".repeat(64);

/** Claims that cannot be served, by the reason that they must show. Pool `p` has a template that allows nothing. */
const FINAL: [reason: string, claim: Loose][] = [
  ["TemplateNotFound", aClaim("c", "empty")],
  ["WarmPoolNotFound", aClaim("c", "none")],
  ["InvalidMetadata", aClaim("c", "p", { additionalPodMetadata: { labels: { "example.com/a": "b" } } })],
  ["EnvVarsInjectionRejected", aClaim("c", "p", { env: [{ name: "WHO", value: "me" }] })],
  ["VolumeClaimTemplatesError", aClaim("c", "p", { volumeClaimTemplates: [VOLUME] })],
  ["ClaimExpired", aClaim("c", "p", { lifecycle: PAST })],
  ["InvalidConfiguration", aClaim(LONG, "served")],
];

test.for(FINAL)(
  "6. %s is final: the claim shows it and no other final reason, with Ready False",
  async ([reason, claim]) => {
    const ns = await makeNamespace();
    await ns.apply(aTemplate("t"), aPool("p", 1, "t"), aPool("empty", 0, "no-such"));
    await ns.apply(aTemplate("served", { service: true }), aPool("served", 0));
    await untilFull(ns, "p");
    const history = await followClaims(ns);
    await ns.apply(claim);
    const { name } = claim.metadata;
    const refused = await untilReady(ns, name, reason);
    expect(condition(refused, "Ready").status).toBe("False");
    await versionsUpTo(history, refused);
    expect([...new Set(faultsOf(history))]).toEqual([expect.stringMatching(new RegExp(`^${name}: ${reason}: `))]);
  },
);

test.for([["PodSucceeded", "exit 0"], ["PodFailed", "exit 1"]] as const)(
  "6. %s is final: a claim whose Pod has ended keeps that Sandbox, and get_sandbox refuses it",
  async ([reason, last]) => {
    const ns = await makeNamespace();
    const command = ["sh", "-c", `until [ -e /tmp/end ]; do sleep 0.2; done; ${last}`];
    const containers = [{ name: "main", image: "busybox:1.37", command }];
    await ns.apply(aTemplate("t", {}, { containers, restartPolicy: "Never" }), aPool("p", 0, "t"), aClaim("c", "p"));
    const { sandbox } = (await untilReady(ns, "c")).status;
    if (hasRealNode) await ns.kubectl("exec", sandbox.name, "--", "touch", "/tmp/end");
    else await endSimulated(ns, sandbox.name, reason === "PodFailed" ? "Failed" : "Succeeded");
    const ended = await untilReady(ns, "c", reason);
    expect(ended.status.sandbox.name).toBe(sandbox.name);
    expect(condition(ended, "Finished")).toMatchObject({ status: "True", reason });
    const told = await runProgram(ns, "get", { claim_name: "c" });
    expect(told).toMatchObject({ error: "SandboxNotFoundError", message: expect.stringMatching(reason) });
  },
);

test("6. SandboxExpired is final: a claim whose Sandbox was given a time of its own keeps it", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  await ns.apply(aClaim("c", "p"));
  const { name } = (await untilReady(ns, "c")).status.sandbox;
  await ns.patch("sandbox", name, { spec: { shutdownTime: "2020-01-01T00:00:00Z" } });
  const expired = await untilReady(ns, "c", "SandboxExpired");
  expect(expired.status.sandbox).toMatchObject({ name });
  expect(condition(expired, "Ready").status).toBe("False");
});

test("6. a pool member whose Pod has ended is never bound", async () => {
  const ns = await makeNamespace();
  await ns.apply(aSimulatedTemplate("t"), aPool("p", 2, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  const members = (await ns.list("sandbox")).map(({ metadata }) => metadata.name).sort();
  for (const member of members) await endSimulated(ns, member, "Failed");
  // A claim that comes a moment before anybody has seen that may be bound to one of them.
  for (const member of members) {
    await ns.until("sandbox", member, (sandbox) => condition(sandbox, "Ready")?.status !== "True");
  }
  await ns.apply(aClaim("c", "p"));
  const bound = await untilReady(ns, "c");
  expect(members).not.toContain(bound.status.sandbox.name);
  await versionsUpTo(history, bound);
  expect(faultsOf(history)).toEqual([]);
});

test("6. a Pod that is deleted and made again: not one final reason between Ready and Ready", async () => {
  const ns = await makeNamespace();
  // It ignores SIGTERM, is killed after a second, and so ends as Failed before it is gone.
  await ns.apply(aTemplate("t", {}, { terminationGracePeriodSeconds: 1 }), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  await ns.apply(aClaim("c", "p"));
  const { name } = (await untilReady(ns, "c")).status.sandbox;
  const { uid } = (await ns.get("pod", name)).metadata;
  await ns.kubectl("delete", "pod", name);
  await ns.until("pod", name, (pod) => pod !== undefined && pod.metadata.uid !== uid);
  await untilReady(ns, "c");
  await ns.patch("sandbox", name, { spec: { operatingMode: "Suspended" } });
  await untilReady(ns, "c", "SandboxSuspended");
  await ns.until("pod", name, (pod) => pod === undefined);
  await ns.patch("sandbox", name, { spec: { operatingMode: "Running" } });
  await versionsUpTo(history, await untilReady(ns, "c"));
  expect(faultsOf(history)).toEqual([]);
});

test("7. other reasons do not end the wait: the client waits through them until the claim is Ready", async () => {
  const ns = await makeNamespace();
  const annotations = { "example.com/session": "the template's" };
  const template = (podTemplate: object, podSpec: object) =>
    aTemplate("t", { envVarsInjectionPolicy: "Allowed", podTemplate }, podSpec);
  const nowhere = { nodeSelector: { "example.com/ready": ns.name } };
  await ns.apply(template({ metadata: { annotations } }, nowhere), aPool("p", 0, "t"));
  const history = await followClaims(ns);
  const program = await startProgram(ns, "create", {
    warmpool: "p",
    claim_name: "c",
    pod_annotations: { "example.com/session": "mine" },
    sandbox_ready_timeout: 600,
  });
  await ns.until("sandboxclaim", "c", (claim) => condition(claim, "Ready")?.reason === "ReconcilerError");
  await ns.apply(template({}, nowhere));
  await untilReady(ns, "c", "DependenciesNotReady");
  const [node] = JSON.parse(await ns.kubectl("get", "nodes", "-o", "json")).items
    .filter(({ spec }: Loose) => (spec.taints ?? []).length === 0);
  await ns.kubectl("label", "node", node.metadata.name, `example.com/ready=${ns.name}`);
  expect(await program.next()).toMatchObject({ claim: "c", status: ["SandboxReady", expect.any(String)] });
  const versions = await versionsUpTo(history, await ns.get("sandboxclaim", "c"));
  const shown = versions.map((version) => condition(version, "Ready")?.reason);
  expect(shown).toEqual(expect.arrayContaining(["ReconcilerError", "DependenciesNotReady", "DependenciesReady"]));
  expect(faultsOf(history)).toEqual([]);
});

/** Ends a Pod of a simulated node: nobody else writes its status. */
async function endSimulated(ns: Namespace, pod: string, phase: "Failed" | "Succeeded"): Promise<void> {
  const conditions = [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: "False" }];
  await ns.patch("pod", pod, { status: { phase, conditions } }, "--subresource=status");
}
