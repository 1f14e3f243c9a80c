/** What the panel of an object says: facts, consequences of actions, commands in sentences, YAML. @module */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deletionText, expiryChange, leavingMembers, suspensionText } from "../../packages/dashboard/actions.tsx";
import { yamlOf } from "../../packages/dashboard/detail.tsx";
import { bytesText, factsOf } from "../../packages/dashboard/overview.tsx";
import { addressOfObject, adviceOf, commandsIn, visible } from "../../packages/dashboard/parts.tsx";
import { previewOf } from "../../packages/dashboard/ports.tsx";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000).toISOString();
const owner = (kind: string, name: string) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind,
  name,
  uid: `uid-${name}`,
  controller: true,
});

const aSandbox = (name: string, more: object = {}, spec: object = {}): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name, namespace: "team-a", uid: `uid-${name}`, creationTimestamp: ago(60), ...more },
  spec: {
    operatingMode: "Running",
    shutdownPolicy: "Retain",
    podTemplate: {
      spec: { containers: [{ name: "main", image: "tool:1", resources: { requests: { cpu: "500m" } } }] },
    },
    ...spec,
  },
  status: { podIPs: ["10.0.0.7"], nodeName: "node-1" },
});

const CLAIM: SandboxClaim = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "session", namespace: "team-a", uid: "uid-session", creationTimestamp: ago(5), labels: { a: "b" } },
  spec: {
    warmPoolRef: { name: "python" },
    lifecycle: { shutdownTime: "2026-01-01T13:00:00Z", shutdownPolicy: "Delete" },
  },
  status: { sandbox: { name: "python-1" } },
};

const CLAIMED = aSandbox("python-1", {
  ownerReferences: [owner("SandboxClaim", "session")],
  annotations: {
    "agents.x-k8s.io/sandbox-template-ref": "py",
    "router.agents.x-k8s.io/active-at": `${ago(2)} router-1`,
  },
}, { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] });

const POD = {
  metadata: { name: "python-1" },
  spec: { nodeName: "node-1", containers: [{ name: "main", image: "tool:2" }] },
  status: {
    containerStatuses: [{
      name: "main",
      restartCount: 3,
      lastState: { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: ago(10) } },
    }],
  },
};

const lines = (facts: ReturnType<typeof factsOf>) =>
  Object.fromEntries(facts.map(({ label, values }) => [label, values.map(({ text }) => text).join(" | ")]));

test("factsOf() a claim: what people look for, and the objects that it belongs to", () => {
  const usage = [{ name: "main", usage: { cpu: "12m", memory: "34Mi" } }];
  const facts = factsOf(CLAIM, { claim: CLAIM, sandbox: CLAIMED, pod: POD, usage }, NOW);
  expect(lines(facts)).toEqual({
    Image: "tool:2",
    Sandbox: "python-1",
    Pool: "python",
    Template: "py",
    Node: "node-1",
    Addresses: "10.0.0.7",
    Expires: "in 60m",
    "Last use": "2m ago",
    Restarts: "3, last 10m ago: OOMKilled, exit code 137",
    Uses: "0.012 CPU, 34 MiB",
    Age: "5m",
    Labels: "a=b",
  });
  expect(facts.flatMap(({ values }) => values.flatMap(({ of }) => of ?? []))).toEqual([
    { kind: "Sandbox", namespace: "team-a", name: "python-1" },
    { kind: "SandboxWarmPool", namespace: "team-a", name: "python" },
    { kind: "SandboxTemplate", namespace: "team-a", name: "py" },
  ]);
});

test("factsOf() a Sandbox: its claim; without metrics and Pod, nothing about them", () => {
  const facts = lines(factsOf(CLAIMED, { claim: CLAIM, sandbox: CLAIMED }, NOW));
  expect(facts).toMatchObject({ Image: "tool:1", Claim: "session", Pool: "python", Requests: "0.5 CPU" });
  expect(facts).toMatchObject({ Expires: "never" });
  expect(Object.keys(facts)).not.toContain("Uses");
  expect(Object.keys(facts)).not.toContain("Restarts");
  const member = aSandbox("python-2", { ownerReferences: [owner("SandboxWarmPool", "python")] });
  expect(lines(factsOf(member, {}, NOW))).toMatchObject({ Pool: "python" });
});

test("bytesText() uses binary units", () => {
  expect([0, 1023, 1024, 1.5 * 2 ** 30, 2 ** 52].map(bytesText)).toEqual([
    "0 B",
    "1020 B",
    "1 KiB",
    "1.5 GiB",
    "4100 TiB",
  ]);
});

describe("what an action says", () => {
  test("deleting a claim: its sandbox and volumes go, the pool stays", () => {
    const text = deletionText(CLAIM, { sandbox: CLAIMED }).join(" ");
    expect(text).toContain("claim session, its Sandbox python-1, the Pod, and volume data-python-1");
    expect(text).toContain("Pool python and its other sandboxes stay.");
    expect(deletionText(CLAIM, {})).toEqual(["Deletes claim session. It has no sandbox.", "Pool python stays."]);
  });

  test("deleting a claimed Sandbox: whose claim it is, and what becomes of it", () => {
    const text = deletionText(CLAIMED, { claim: CLAIM }).join(" ");
    expect(text).toContain("Claim session uses this Sandbox.");
    expect(text).toContain("keeps claim session, which gets another sandbox from pool python at once");
    expect(text).toContain("deletes claim session, too");
  });

  test("deleting a member, or a Sandbox that nobody uses", () => {
    const member = aSandbox("python-2", { ownerReferences: [owner("SandboxWarmPool", "python")] });
    expect(deletionText(member, {}).join(" ")).toContain("Pool python creates a new sandbox in its place.");
    expect(deletionText(aSandbox("own"), {}).join(" ")).toContain("No claim uses it, and nothing replaces it.");
  });

  test("suspending: the volumes stay, the claim is not Ready", () => {
    const text = suspensionText(CLAIMED, "session").join(" ");
    expect(text).toContain("Keeps the name, volume data-python-1,");
    expect(text).toContain("Claim session is not Ready");
    expect(suspensionText(aSandbox("own"), undefined).join(" ")).not.toContain("Claim");
  });
});

describe("expiryChange()", () => {
  const END = "2026-01-02T00:00:00Z";
  test("keeps the policy of an object that has an expiry", () => {
    expect(expiryChange(CLAIM, END)).toEqual({ spec: { lifecycle: { shutdownTime: END } } });
    expect(expiryChange(aSandbox("s", {}, { shutdownTime: ago(1) }), END)).toEqual({ spec: { shutdownTime: END } });
  });
  test("lets an object that had none be deleted", () => {
    const claim = { ...CLAIM, spec: { warmPoolRef: { name: "python" } } };
    expect(expiryChange(claim, END)).toEqual({ spec: { lifecycle: { shutdownTime: END, shutdownPolicy: "Delete" } } });
    expect(expiryChange(aSandbox("s"), END)).toEqual({ spec: { shutdownTime: END, shutdownPolicy: "Delete" } });
  });
  test("keeps the policy of a lifecycle without a time, and takes an expiry away", () => {
    const claim = {
      ...CLAIM,
      spec: { warmPoolRef: { name: "python" }, lifecycle: { shutdownPolicy: "Retain" as const } },
    };
    expect(expiryChange(claim, END)).toEqual({ spec: { lifecycle: { shutdownTime: END } } });
    expect(expiryChange(CLAIM, null)).toEqual({ spec: { lifecycle: { shutdownTime: null } } });
  });
});

test("leavingMembers() names those that are not Ready first, then the newest; none that is claimed or leaves anyway", () => {
  const pool = { metadata: { name: "python", uid: "uid-python" } } as SandboxWarmPool;
  const member = (name: string, age: number, isReady: boolean, more: object = {}) => ({
    ...aSandbox(name, { creationTimestamp: ago(age), ownerReferences: [owner("SandboxWarmPool", "python")], ...more }),
    status: {
      conditions: [{
        type: "Ready",
        status: isReady ? "True" as const : "False" as const,
        reason: "R",
        message: "",
        lastTransitionTime: ago(1),
      }],
    },
  });
  const sandboxes = [
    member("old", 60, true),
    member("new", 1, true),
    member("starting", 30, false),
    member("draining", 90, true, { labels: { "agents.x-k8s.io/draining": "surplus" } }),
    CLAIMED,
  ];
  const names = (size: number) => leavingMembers(pool, sandboxes, size).map(({ metadata }) => metadata.name);
  expect([3, 2, 1, 0].map(names)).toEqual([[], ["starting"], ["starting", "new"], ["starting", "new", "old"]]);
});

test.for(
  [
    ["Fix the node (kubectl describe node n-1), or delete the Pod: kubectl delete pod x -n y.", [
      "kubectl describe node n-1",
      "kubectl delete pod x -n y",
    ]],
    [`Resume it: kubectl patch sandbox a -n b --type=merge -p '{"spec":{"operatingMode":"Running"}}'. Or wait.`, [
      `kubectl patch sandbox a -n b --type=merge -p '{"spec":{"operatingMode":"Running"}}'`,
    ]],
    ["Read kubectl logs x -n y, fix it, and suspend it.", ["kubectl logs x -n y"]],
    ["kubectl get sandboxclaims,sandboxes -A.", ["kubectl get sandboxclaims,sandboxes -A"]],
    ["Run hookbox install --apply. hookbox has not reconciled it yet.", ["hookbox install --apply"]],
    ["Nothing to do.", []],
  ] as const,
)("commandsIn() finds the commands of: %s", ([sentence, commands]) => {
  const parts = commandsIn(sentence);
  expect(parts.map(({ text }) => text).join("")).toBe(sentence);
  expect(parts.filter(({ isCommand }) => isCommand).map(({ text }) => text)).toEqual(commands);
});

test("yamlOf() leaves managedFields out, and nothing else", () => {
  const text = yamlOf({ ...CLAIM, metadata: { ...CLAIM.metadata, managedFields: [{ manager: "m" }] } });
  expect(text).not.toContain("managedFields");
  expect(text).toMatch(/^apiVersion: extensions.*\nkind: SandboxClaim\nmetadata:\n {2}name: session\n/);
  expect(text).toContain("warmPoolRef:\n    name: python");
  expect(text).toContain("status:\n  sandbox:\n    name: python-1");
});

test("previewOf() names port, sandbox and namespace in the host, and keeps the router's port", () => {
  const where = { namespace: "team-a", sandbox: "python-1" };
  const router = { domain: "preview.example", origin: "https://router.example" };
  expect(previewOf(where, "3000", "/a?b=c", router)).toBe("https://3000-python-1-team-a.preview.example/a?b=c");
  expect(previewOf(where, "80", "", { ...router, origin: "http://127.0.0.1:8080" }))
    .toBe("http://80-python-1-team-a.preview.example:8080/");
  for (const path of ["javascript:alert(1)", "//evil.example/", "\\\\evil.example\\"]) {
    expect(previewOf(where, "80", path, router)).toMatch(/^https:\/\/80-python-1-team-a\.preview\.example\//);
  }
  for (const sandbox of ["x".repeat(56), "with.dot"]) {
    expect(previewOf({ ...where, sandbox }, "80", "", router), "no host can be named like this").toBeUndefined();
  }
});

describe("addressOfObject()", () => {
  beforeEach(() => vi.stubGlobal("location", { hash: "#/pools?namespace=team-a&open=team-a/python" }));
  afterEach(() => vi.unstubAllGlobals());
  test("leads to the object's panel in the shown namespace; kinds without a panel have no address", () => {
    expect(addressOfObject({ kind: "Sandbox", namespace: "team-a", name: "x" }))
      .toBe("#/sandboxes?namespace=team-a&open=team-a/x");
    expect(addressOfObject({ kind: "Node", name: "n" })).toBeUndefined();
  });
});

test("adviceOf() names the role for a right that is missing, and how to grant it", () => {
  const refusal = (verb: string, where: string) =>
    `sandboxes.agents.x-k8s.io "x" is forbidden: User "ada" cannot ${verb} resource "sandboxes" ` +
    `in API group "agents.x-k8s.io"${where}`;
  expect(adviceOf(refusal("patch", ' in the namespace "team-a"'))).toContain(
    "kubectl create rolebinding NAME --clusterrole=hookbox-edit --user=ada -n team-a.",
  );
  expect(adviceOf(refusal("list", " at the cluster scope"))).toContain(
    "kubectl create clusterrolebinding NAME --clusterrole=hookbox-view --user=ada.",
  );
  expect(adviceOf('sandboxes "x" is forbidden: exceeded quota: small')).toBeUndefined();
});

test("visible() shows what could make a name look like another one", () => {
  expect(visible("a\u202etxt.exe")).toBe("a\\u202etxt.exe");
  expect(visible("a\nb\u200f\u2066c\x7f")).toBe("a\\u000ab\\u200f\\u2066c\\u007f");
  expect(visible("\u0634\u0639\u0631 \u{1f600}.txt")).toBe("\u0634\u0639\u0631 \u{1f600}.txt");
});
