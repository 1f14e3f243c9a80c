/** Admission policies of hookbox on a cluster whose own mutating admission adds labels and annotations. @module */
import { beforeAll, expect, test } from "vitest";
import {
  ASSIGNED_AT_ANNOTATION,
  CLAIM_UID_LABEL,
  CONTROLLER_UID_LABEL,
  SANDBOX_NAME_ANNOTATION,
  UNRESOLVED_ANNOTATION,
  WARM_POOL_LABEL,
  WOKEN_AT_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import { RETURNED } from "../../packages/binder/returns.ts";
import { attempt } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { aClaim, aPool, aTemplate } from "./pools.ts";
import { ASKS, SUSPEND } from "./routerpolicy.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess, aSandbox, makeOwner, mutateWrites } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

/** One of each domain that the policies reserve; no process may write these. */
const RESERVED = [
  "agents.x-k8s.io/other",
  "extensions.agents.x-k8s.io/other",
  "router.agents.x-k8s.io/idle-seconds",
  "metacontroller.k8s.io/other",
  "x-k8s.io/other",
  "k8s.io/other",
  "kubernetes.io/other",
  "cluster-autoscaler.kubernetes.io/safe-to-evict",
  "sub.app.kubernetes.io/other",
  "opentelemetry.io/other",
];
/** Keys that only look like reserved ones, or are for users. */
const FOREIGN = ["team", "app.kubernetes.io/part-of", "example.com/k8s.io", "my-k8s.io/other", "my-controller-uid"];
const foreign = Object.fromEntries(FOREIGN.map((key) => [key, "x"]));

/** Writes as an account of one process; the answer is "" if the API server accepts the write. */
function writesOf(as: string[]) {
  const answer = async (args: string[], input?: string) => {
    const { code, stderr } = await attempt(cluster, [...as, ...args], input);
    return code === 0 ? "" : / denied request: ([^\n]*)/.exec(stderr)?.[1] ?? stderr;
  };
  return {
    create: (object: Loose) => answer(["create", "-f", "-"], JSON.stringify(object)),
    patch: (object: string[], body: Loose) => answer(["patch", ...object, "--type=merge", "-p", JSON.stringify(body)]),
  };
}

const controller = ({ apiVersion, kind, metadata: { name, uid } }: Loose) => ({
  ...{ apiVersion, kind, name, uid, controller: true },
});
const make = (name: string, metadata: Loose) => ({ ...aSandbox(name), metadata: { name, ...metadata } });

/** Metadata with one more label or annotation. */
function withKey({ labels, annotations, ...rest }: Loose, field: string, key: string): Loose {
  const maps: Loose = { labels: { ...labels }, annotations: { ...annotations } };
  maps[field][key] = "x";
  return { ...rest, ...maps };
}

test("the binder works, and may still set no reserved keys", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  await mutateWrites(ns);
  const { create, patch } = writesOf(as);
  await ns.apply(aPool("p", 0), aClaim("c", "p"));
  const [pool, claim] = [await ns.get("sandboxwarmpool", "p"), await ns.get("sandboxclaim", "c")];
  const ofPool = { ownerReferences: [controller(pool)], labels: { [WARM_POOL_LABEL]: "x" } };
  const ofClaim = { ownerReferences: [controller(claim)], labels: { [CLAIM_UID_LABEL]: claim.metadata.uid } };
  const taken = {
    ...ofClaim,
    labels: { ...ofClaim.labels, [WARM_POOL_LABEL]: null },
    annotations: { [ASSIGNED_AT_ANNOTATION]: "x" },
  };
  const returned = { labels: { [CLAIM_UID_LABEL]: RETURNED } };
  for (const name of ["m", "back"]) expect(await create(make(name, ofPool)), name).toBe("");
  expect((await ns.get("sandbox", "m")).metadata).toMatchObject({
    labels: { team: "red" },
    annotations: { stamp: "x" },
  });
  for (const key of RESERVED) {
    for (const field of ["labels", "annotations"]) {
      const what = `${field} ${key}`;
      expect(await create(make("new", withKey(ofPool, field, key))), what)
        .toContain("The binder may create Sandboxes with reserved");
      expect(await patch(["sandbox", "m"], { metadata: withKey(taken, field, key) }), what)
        .toContain(`The binder may change reserved ${field}`);
      expect(await patch(["sandboxclaim", "c"], { metadata: withKey({}, field, key) }), what)
        .toContain(`The binder may change reserved ${field}`);
    }
  }
  for (const field of ["labels", "annotations"]) {
    expect(await patch(["sandbox", "back"], { metadata: withKey(returned, field, "k8s.io/other") }))
      .toContain("The binder may change Sandboxes of pools");
  }
  for (const object of [["sandboxclaim", "c"], ["sandboxwarmpool", "p"]]) {
    const key = object[1] === "c" ? SANDBOX_NAME_ANNOTATION : WOKEN_AT_ANNOTATION;
    expect(await patch(object, { metadata: { annotations: { ...foreign, [key]: "x" } } })).toBe("");
    expect(await patch(object, { metadata: withKey({}, "labels", CONTROLLER_UID_LABEL) }))
      .toContain("The binder may change reserved labels");
  }
  expect(await create(make("c", { ...ofClaim, annotations: foreign }))).toBe("");
  expect(await patch(["sandbox", "back"], { metadata: returned })).toBe("");
  expect(await patch(["sandbox", "m"], { metadata: taken })).toBe("");
});

test("the binder binds a member that has a second owner, which stays", async () => {
  const { ns, as } = await aProcess(cluster, "binder");
  const { patch } = writesOf(as);
  await ns.apply(aPool("p", 0), aClaim("c", "p"));
  const [first, second] = [await makeOwner(ns, "a"), await makeOwner(ns, "b")];
  const [pool, claim] = [await ns.get("sandboxwarmpool", "p"), await ns.get("sandboxclaim", "c")].map(controller);
  await ns.apply(make("m", { ownerReferences: [pool, first], labels: { [WARM_POOL_LABEL]: "x" } }));
  const labels = { [WARM_POOL_LABEL]: null, [CLAIM_UID_LABEL]: claim!.uid };
  const bind = (...ownerReferences: unknown[]) => patch(["sandbox", "m"], { metadata: { labels, ownerReferences } });
  const refused = expect.stringContaining("The binder may change Sandboxes of pools");
  const attempts: [what: string, owners: unknown[], says: unknown][] = [
    ["without it", [claim], refused],
    ["with another one", [second, claim], refused],
    ["with one more", [first, second, claim], refused],
    ["with a change of it", [{ ...first, blockOwnerDeletion: true }, claim], refused],
    ["not controlled", [first, { ...claim, controller: false }], refused],
    ["with it", [first, claim], ""],
  ];
  for (const [what, owners, says] of attempts) expect([what, await bind(...owners)]).toEqual([what, says]);
});

test("the keeper works, and may set no reserved keys on our kinds, and no other keys on Pods and Services", async () => {
  const { ns, as } = await aProcess(cluster, "keeper");
  await mutateWrites(ns);
  const { patch } = writesOf(as);
  await ns.apply(aPool("p", 0), aTemplate("p"), aClaim("c", "p"), aSandbox("box"), {
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } },
  });
  for (const object of [["sandbox", "box"], ["sandboxwarmpool", "p"], ["sandboxtemplate", "p"]]) {
    expect(await patch(object, { metadata: { annotations: { [UNRESOLVED_ANNOTATION]: "x" } } }), `${object}`).toBe("");
  }
  expect(await patch(["sandbox", "box"], { metadata: { labels: { [CONTROLLER_UID_LABEL]: "x" } } })).toBe("");
  for (const key of RESERVED) {
    for (const object of [["sandbox", "box"], ["sandboxclaim", "c"]]) {
      for (const field of ["labels", "annotations"]) {
        expect(await patch(object, { metadata: withKey({}, field, key) }), `${object} ${field} ${key}`)
          .toContain("The keeper may change");
      }
    }
  }
  for (const key of FOREIGN) {
    for (const field of ["labels", "annotations"]) {
      expect(await patch(["service", "s"], { metadata: withKey({}, field, key) }), `${field} ${key}`)
        .toContain("The keeper may change");
    }
  }
});

test("the router works, and may set no reserved keys", async () => {
  const { ns, as } = await aProcess(cluster, "router");
  await ns.apply(make("box", { annotations: ASKS }));
  await mutateWrites(ns);
  const { patch } = writesOf(as);
  for (const key of RESERVED) {
    for (const field of ["labels", "annotations"]) {
      expect(await patch(["sandbox", "box"], { metadata: withKey({}, field, key) }), `${field} ${key}`)
        .toMatch(/The router may (change reserved annotations|not change reserved labels)/);
    }
  }
  expect(await patch(["sandbox", "box"], { ...SUSPEND, metadata: { labels: foreign } })).toBe("");
});
