/** The policy of deploy/managedfields on a real API server: which objects have managedFields, for as long as they live. @module */
import { beforeAll, expect, test } from "vitest";
import { DEPLOY } from "./chart.ts";
import { type Kubectl, run, until } from "./kubectl.ts";
import { type Loose, makeNamespace, type Namespace, sleeper } from "./namespace.ts";
import { aClaim, aPool } from "./pools.ts";
import { shared } from "./shared.ts";

let cluster: Kubectl;
beforeAll(async () => {
  cluster = await shared("bare");
  await run(cluster, ["apply", "-k", `${DEPLOY}/managedfields`]);
});

const aPod = (name: string): Loose => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "main", image: "busybox" }], automountServiceAccountToken: false },
});

/** Makes the object one that another controls. @param over the reference's fields that are others */
function ownedBy({ apiVersion, kind, metadata: { name, uid } }: Loose, object: Loose, over: Loose = {}): Loose {
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, ...over }];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

async function hasManagedFields(ns: Namespace, { kind, metadata }: Loose): Promise<boolean> {
  const path = ["-o", "jsonpath={.metadata.managedFields}", "--show-managed-fields"];
  return await ns.kubectl("get", kind, metadata.name, ...path) !== "";
}

test("what hookbox makes has none, and gets none by what is written later; all else has them", async () => {
  const ns = await makeNamespace(cluster);
  await ns.apply(aPool("owner", 0), aClaim("owner", "owner"), sleeper("owner"));
  const owner = async (kind: string) => await ns.get(kind, "owner") as Loose;
  const [pool, claim, sandbox] = [await owner("sandboxwarmpool"), await owner("sandboxclaim"), await owner("sandbox")];
  const without = [
    ownedBy(pool, sleeper("of-pool")),
    ownedBy(claim, sleeper("of-claim")),
    ownedBy(sandbox, aPod("of-sandbox")),
  ];
  const having = [
    sleeper("bare"),
    ownedBy(pool, sleeper("not-controlled"), { controller: false }),
    ownedBy(pool, sleeper("of-another-group"), { apiVersion: "example.com/v1" }),
    aPod("plain"),
    ownedBy(await ns.get("serviceaccount", "default"), aPod("of-account")),
    ownedBy(sandbox, aPod("of-another-group"), { apiVersion: "example.com/v1" }),
  ];
  const all = [...without, ...having];
  const made = async () => {
    for (const { kind, metadata } of all) {
      await ns.kubectl("delete", kind, metadata.name, "--ignore-not-found", "--now");
    }
    await ns.apply(...all);
    return await Promise.all(without.map((object) => hasManagedFields(ns, object)));
  };
  // An API server takes a moment to know a policy.
  expect(await until(made, (seen) => !seen.includes(true))).toEqual([false, false, false]);
  expect(await Promise.all(having.map((object) => hasManagedFields(ns, object)))).toEqual(having.map(() => true));
  for (const { kind, metadata } of without) {
    await ns.patch(kind, metadata.name, { metadata: { labels: { x: "y" } } });
    await ns.patch(kind, metadata.name, { status: { conditions: [] } }, "--subresource=status");
  }
  expect(await Promise.all(without.map((object) => hasManagedFields(ns, object)))).toEqual([false, false, false]);
});
