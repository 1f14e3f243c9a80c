import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyUpdate, LAST_APPLIED_ANNOTATION, lastApplied } from "../../packages/api/objects/apply.ts";
import { mergeTrapPatch } from "../../packages/keeper/mergetrap.ts";
import { aSandbox } from "../sandboxes.ts";
import { asked, begin, end, keep, keeper, pass, server } from "./stage.ts";
import { refusal } from "../kube/fakeapi.ts";
import { SANDBOX } from "./keeping.ts";

const OWNER = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool", name: "pool", uid: "p" };
const DNS = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
const HEADERS = [{ name: "Cookie", value: "a" }, { name: "Cookie", value: "b" }];
const probe = { httpGet: { path: "/", port: 80, httpHeaders: HEADERS } };

/** A Sandbox as its controller has made it: all of its spec is in last-applied. */
function made(container: object, { owner = OWNER as object, change = {} as object, applied = true } = {}) {
  const metadata = { labels: { "agents.x-k8s.io/warm-pool-sandbox": "x" }, annotations: {} };
  const podTemplate = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "main", ...container }] } };
  const desired = { metadata: { name: "demo", ...metadata }, spec: { podTemplate, service: true } };
  const sandbox = aSandbox({
    metadata: { ...metadata, ownerReferences: [{ ...owner, controller: true }], resourceVersion: "7" },
    spec: { ...desired.spec, ...change },
  });
  if (applied) sandbox.metadata.annotations = { [LAST_APPLIED_ANNOTATION]: JSON.stringify(desired) };
  return sandbox;
}

describe("mergeTrapPatch()", () => {
  test.for([
    { name: "two protocols on one port", container: { ports: DNS } },
    { name: "two headers of one name", container: { livenessProbe: probe } },
    {
      name: "two mounts at one path",
      container: { volumeMounts: [{ mountPath: "/a" }, { mountPath: "/a", subPath: "b" }] },
    },
  ])("keeps the merge off $name, and off nothing else", ({ container }) => {
    const sandbox = made(container);
    const patch = mergeTrapPatch(sandbox) as { metadata: { annotations: Record<string, string> } };
    expect(patch).toMatchObject({ metadata: { resourceVersion: "7" } });
    const text = patch.metadata.annotations[LAST_APPLIED_ANNOTATION] ?? "";
    const expected = structuredClone(lastApplied(sandbox)) as unknown as { spec: { podTemplate: { spec?: unknown } } };
    delete expected.spec.podTemplate.spec;
    expect(JSON.parse(text)).toEqual(expected);

    const patched = { ...sandbox, metadata: { ...sandbox.metadata, annotations: patch.metadata.annotations } };
    expect(applyUpdate(patched, lastApplied(patched) ?? {}).spec, "the merge spoils nothing now").toEqual(sandbox.spec);
    expect(applyUpdate(sandbox, lastApplied(sandbox) ?? {}).spec, "and did before").not.toEqual(sandbox.spec);
    expect(mergeTrapPatch(patched), "once is enough").toBeUndefined();
  });

  test("keeps the merge off what the API server has made otherwise than it was applied", () => {
    const podTemplate = { spec: { containers: [{ name: "main", args: ["changed by admission"] }] } };
    expect(mergeTrapPatch(made({ args: ["applied"] }, { change: { podTemplate } }))).toBeDefined();
    const defaulted = { spec: { containers: [{ name: "main", args: ["applied"], tty: false }] } };
    expect(mergeTrapPatch(made({ args: ["applied"] }, { change: { podTemplate: defaulted } }))).toBeUndefined();
  });

  test.for([
    { name: "an ordinary Pod", sandbox: made({ ports: [DNS[0]] }) },
    { name: "defaults of the API server", sandbox: made({}, { change: { operatingMode: "Suspended" } }) },
    {
      name: "items that agree, but not in the key",
      sandbox: made({ ports: [{ containerPort: 1, protocol: "TCP" }, { containerPort: 2, protocol: "TCP" }] }),
    },
    { name: "a list without keys", sandbox: made({ args: ["a", "a"] }) },
    { name: "no last-applied", sandbox: made({ ports: DNS }, { applied: false }) },
  ])("leaves $name alone", ({ sandbox }) => {
    expect(mergeTrapPatch(sandbox)).toBeUndefined();
  });
});

describe("mergeTrapReconciler()", () => {
  beforeEach(begin);
  afterEach(end);
  const put = (sandbox: object) => server.put(SANDBOX, { ...sandbox });
  const claim = { ...OWNER, kind: "SandboxClaim" };
  const { annotations } = made({ ports: DNS }).metadata;
  const OTHER = { name: "demo-2", uid: "uid-demo-2", annotations };

  test.for([["a pool", OWNER], ["a claim", claim]] as const)("acts at once, and once, for %s", async ([, owner]) => {
    put(made({ ports: DNS }, { owner }));
    await keep(0.01);
    expect(asked().filter((line) => line.startsWith("PATCH"))).toEqual(["PATCH sandboxes/demo"]);
    expect(keeper.actions).toContain("spec left out of last-applied");
    await pass(60);
    keeper.kill();
    await keep(60);
    expect(asked().filter((line) => line.startsWith("PATCH"))).toHaveLength(1);
  });

  test.for(
    [
      ["a healthy member", made({})],
      ["a Sandbox of somebody else's", made({ ports: DNS }, { owner: { ...OWNER, apiVersion: "apps/v1" } })],
      ["what another kind of the group has", made({ ports: DNS }, { owner: { ...OWNER, kind: "SandboxTemplate" } })],
    ] as const,
  )("asks nothing about %s", async ([, sandbox]) => {
    put(sandbox);
    await keep(60);
    expect(asked()).toEqual([]);
  });

  test("looks at one again that has got a last-applied annotation since", async () => {
    put(made({ ports: DNS }, { applied: false }));
    await keep(1);
    expect(asked().filter((line) => line.startsWith("PATCH"))).toEqual([]);
    put(made({ ports: DNS }));
    await pass(0.01);
    expect(keeper.actions).toContain("spec left out of last-applied");
  });

  test("goes on with others where an annotation is broken", async () => {
    const broken = made({ ports: DNS });
    broken.metadata.annotations = { [LAST_APPLIED_ANNOTATION]: "{" };
    put(broken);
    await keep(5);
    expect(asked()).toEqual([]);
    server.put(`${SANDBOX}-2`, { ...made({ ports: DNS }), metadata: { ...made({}).metadata, ...OTHER } });
    await pass(0.01);
    expect(asked()).toEqual(["PATCH sandboxes/demo-2"]);
  });

  test("waits for the next version where the Sandbox has changed since then", async () => {
    put(made({ ports: DNS }));
    server.intercept = ({ method }) => method === "PATCH" ? refusal(409, "changed") : undefined;
    await keep(10);
    const patches = () => asked().filter((line) => line.startsWith("PATCH")).length;
    expect(patches()).toBe(1);
    server.intercept = () => undefined;
    put({ ...made({ ports: DNS }), status: {} });
    await pass(0.01);
    expect(patches()).toBe(2);
    expect(keeper.actions).toContain("spec left out of last-applied");
  });
});
