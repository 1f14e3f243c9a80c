/** A Sandbox that asks for more volumes than one may have, as an older CRD lets it: what is made, kept and said. @module */
import { describe, expect, test } from "vitest";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const volumes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ metadata: { name: `v${i}` }, spec: { accessModes: ["ReadWriteOnce"] } }));
const pvcs = (...numbers: number[]) =>
  numbers.map((i) => aChild("PersistentVolumeClaim", { metadata: { name: `v${i}-demo` } }));

function answer(
  { count, spec = {}, metadata = {} }: { count: number; spec?: object; metadata?: object },
  children: ReturnType<typeof aChild>[] = [],
) {
  const sandbox = aSandbox({ spec: { volumeClaimTemplates: volumes(count), ...spec }, metadata });
  const { children: desired, status, ...rest } = syncSandbox(aRequest(sandbox, children), NOW, {
    clusterDomain: "cluster.local",
  });
  const { reason, message } = findCondition(status.conditions, "Ready") ?? {};
  return { made: desired.map(({ kind, metadata: { name } }) => `${kind}/${name}`), reason, message, ...rest };
}

test("64 volumes are made, and the Pod once they are seen", () => {
  const { made, reason } = answer({ count: 64 });
  expect(made).toHaveLength(64);
  expect(made.join()).not.toContain("Pod");
  expect(reason).toBe("DependenciesNotReady");
});

describe("of more", () => {
  test.for([65, 10_000])("%i make nothing, and the Sandbox says why", (count) => {
    expect(answer({ count })).toEqual({
      made: [],
      deletions: {},
      reason: "InvalidConfiguration",
      message: [
        'Error seen: PersistentVolumeClaim "v0-demo" is invalid: spec.volumeClaimTemplates: ' +
        `Too many: ${count}: must have at most 64 items`,
        `Pod "demo" is invalid: spec.volumes: Too many: ${count}: must have at most 64 items`,
      ].join("\n"),
      resyncAfterSeconds: 300,
    });
  });

  test("those that exist stay, and so do Pod and Service", () => {
    const exist = [...pvcs(0, 1, 9999), aReadyPod(), aChild("Service")];
    const { made, deletions, reason } = answer({ count: 10_000, spec: { service: true } }, exist);
    expect(made.toSorted()).toEqual(exist.map(({ kind, metadata: { name } }) => `${kind}/${name}`).toSorted());
    expect(deletions).toEqual({});
    expect(reason).toBe("InvalidConfiguration");
  });

  test.for<[string, object]>([
    ["suspended", { operatingMode: "Suspended" }],
    ["expired", { shutdownTime: "2026-11-21T11:00:00Z" }],
  ])("those that exist stay in a Sandbox that is %s", ([, spec]) => {
    expect(answer({ count: 10_000, spec }, pvcs(0, 9999)).made).toEqual(
      [0, 9999].map((i) => `PersistentVolumeClaim/v${i}-demo`),
    );
  });

  test("a Sandbox that has them all is whole, and gets its Pod", () => {
    const all = pvcs(...Array.from({ length: 70 }, (_, i) => i));
    expect(answer({ count: 70 }, all)).toMatchObject({ made: expect.arrayContaining(["Pod/demo"]), deletions: {} });
    expect(answer({ count: 70 }, [...all, aReadyPod()]).reason).toBe("DependenciesReady");
  });

  test("what a quota refuses is not what somebody waits for", () => {
    const problems = [{ kind: "PersistentVolumeClaim", name: "v1-demo", state: "refused", message: "exceeded quota" }];
    const annotations = { "agents.x-k8s.io/unresolved": JSON.stringify({ generation: 1, problems }) };
    expect(answer({ count: 65, metadata: { annotations } }).reason).toBe("InvalidConfiguration");
  });
});
