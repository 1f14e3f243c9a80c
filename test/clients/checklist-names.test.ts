/** The contract's checklist, items 12 to 15: names, selectors, what users may change, and how claims end. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { faultsOf, followClaims } from "../integration/history.ts";
import { until } from "../integration/kubectl.ts";
import { type Loose, makeNamespace } from "../integration/namespace.ts";
import { aPool, aSimulatedTemplate, aTemplate, controllerOf, untilFull, untilReady } from "../integration/pools.ts";
import { needsClient, runProgram } from "./program.ts";
import { versionsUpTo } from "./seen.ts";
import "../integration/suite.ts";

needsClient();

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const SERVICED = { service: true, envVarsInjectionPolicy: "Allowed" };
const COLD = { env: { WHO: "me" } };

test("12. a claim_name of 64 characters with service: InvalidConfiguration, once, and then silence", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", SERVICED), aPool("p", 0, "t"));
  const history = await followClaims(ns);
  const claim_name = "n".repeat(64);
  const told = await runProgram(ns, "create", { warmpool: "p", claim_name, ...COLD, sandbox_ready_timeout: 600 });
  expect(told).toMatchObject({
    error: "SandboxClaimFailedError",
    message: expect.stringMatching(/InvalidConfiguration/),
  });
  const versions = async () => [(await ns.get("sandboxclaim", claim_name)).metadata.resourceVersion];
  // The claim's annotations come after its status: silence begins with them, and then it lasts.
  const fiveSeconds = async () => {
    const before = await versions();
    await sleep(5000);
    return { before, after: await versions() };
  };
  await until(fiveSeconds, ({ before, after }) => before.join() === after.join());
  await versionsUpTo(history, await ns.get("sandboxclaim", claim_name));
  const faults = new Set(faultsOf(history));
  expect([...faults]).toEqual([expect.stringMatching(/: InvalidConfiguration: .*must be no more than 63 characters/)]);
  expect([await ns.list("sandbox"), await ns.list("service")]).toEqual([[], []]);
});

test.for([
  { name: "63 characters, with service", claim_name: "n".repeat(63), spec: SERVICED },
  { name: "63 characters and dots", claim_name: `${"n".repeat(40)}.${"m".repeat(22)}`, spec: {} },
  {
    name: "253 characters and dots",
    claim_name: [63, 63, 62, 62].map((length) => "n".repeat(length)).join("."),
    spec: {},
  },
])("12. a claim_name of $name is safe in a cold start", async ({ claim_name, spec }) => {
  const ns = await makeNamespace();
  // Simulated: a real kubelet's folder for logs has no room for 253 characters.
  await ns.apply(aSimulatedTemplate("t", { ...spec, envVarsInjectionPolicy: "Allowed" }), aPool("p", 0, "t"));
  const told = await runProgram(ns, "create", { warmpool: "p", claim_name, ...COLD });
  expect(told).toMatchObject({ claim: claim_name, sandbox: claim_name, pod: claim_name });
});

test("13. status.selector, the Pod's name-hash, its claim-uid and its controller", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", { envVarsInjectionPolicy: "Allowed" }), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  for (const env of [undefined, COLD.env]) {
    const told = await runProgram(ns, "create", { warmpool: "p", env });
    const claim = await ns.get("sandboxclaim", told.claim);
    const sandbox = await ns.get("sandbox", told.sandbox);
    const { [KEY("sandbox-name-hash")]: hash } = (await ns.get("pod", told.pod)).metadata.labels;
    expect(hash).toMatch(/^[0-9a-f]{8}$/);
    expect(told.hash).toBe(hash);
    expect(sandbox.status.selector).toBe(`${KEY("sandbox-name-hash")}=${hash}`);
    const owned = ({ metadata }: Loose) => metadata.labels[KEY("claim-uid")] === claim.metadata.uid;
    const pod = await ns.until("pod", told.pod, owned);
    expect(controllerOf(pod)).toMatchObject({ kind: "Sandbox", name: told.sandbox, uid: sandbox.metadata.uid });
  }
});

test("14. a user's operatingMode stays; annotations added to and removed from a claim arrive within 30 seconds", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const told = await runProgram(ns, "create", { warmpool: "p", pod_annotations: { "example.com/old": "1" } });
  await ns.patch("sandbox", told.sandbox, { spec: { operatingMode: "Suspended" } });
  await untilReady(ns, told.claim, "SandboxSuspended");
  const annotations = { "example.com/old": null, "example.com/snapshot": "s-1" };
  await ns.patch("sandboxclaim", told.claim, { spec: { additionalPodMetadata: { annotations } } });
  const arrived = ({ spec }: Loose) => spec.podTemplate.metadata.annotations?.["example.com/snapshot"] === "s-1";
  const sandbox = await ns.until("sandbox", told.sandbox, arrived);
  expect(sandbox.spec.podTemplate.metadata.annotations).not.toHaveProperty(["example.com/old"]);
  expect(sandbox.spec.operatingMode).toBe("Suspended");
  const gone = { "example.com/snapshot": null };
  await ns.patch("sandboxclaim", told.claim, { spec: { additionalPodMetadata: { annotations: gone } } });
  const { spec } = await ns.until("sandbox", told.sandbox, (object) => !arrived(object));
  expect(spec.operatingMode).toBe("Suspended");
});

test("15. shutdownTime with Delete; the client's labels and annotations are kept; claims are listed by label", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const labels = { "example.com/user": "ann" };
  const told = await runProgram(ns, "create", { warmpool: "p", labels, shutdown_after_seconds: 15 });
  const claim = await ns.get("sandboxclaim", told.claim);
  expect(claim.metadata.labels).toMatchObject({ ...labels, [KEY("created-by")]: "python-client" });
  expect(claim.metadata.annotations).toHaveProperty([KEY("client-first-requested-at")]);
  expect(claim.spec.lifecycle.shutdownTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const found = async (selector: string) =>
    JSON.parse(await ns.kubectl("get", "sandboxclaims", "-l", selector, "-o", "json")).items.length;
  expect([await found("example.com/user=ann"), await found("example.com/user=bob")]).toEqual([1, 0]);
  await ns.until("sandboxclaim", told.claim, (object) => object === undefined);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(claim.spec.lifecycle.shutdownTime));
  const isClaims = (sandbox: Loose) => controllerOf(sandbox)?.kind === "SandboxClaim";
  await until(() => ns.list("sandbox"), (left) => !left.some(isClaims));
});
