/** The policies of Events and Leases on a real API server: what the account of each process may record, and where. @module */
import { beforeAll, expect, test } from "vitest";
import { eventOf } from "../../packages/kube/event.ts";
import { attempt, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { type BareCluster, shared } from "./shared.ts";
import { aProcess } from "./underpolicy.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const AGENTS = "agents.x-k8s.io/v1beta1";
const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";

function anEvent(namespace: string, apiVersion = AGENTS): Loose {
  const regarding = { apiVersion, kind: "Any", namespace, name: "box", uid: "u" };
  const what = { type: "Normal", reason: "Tried", action: "Trying", note: "", reportingController: "test" } as const;
  const key = `${namespace} ${apiVersion}`;
  return eventOf({ ...what, regarding, key, at: 0 }, "test", new Date());
}

/** An Event as Kubernetes had it before events.k8s.io. */
function anOldEvent(namespace: string): Loose {
  return {
    ...{ apiVersion: "v1", kind: "Event", metadata: { name: "old", namespace }, reason: "Tried", type: "Normal" },
    involvedObject: { apiVersion: AGENTS, kind: "Sandbox", namespace, name: "box" },
  };
}

function aLease(namespace: string, name: string): Loose {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace }, spec: {} };
}

/** Tries each, and tells what the API server says. A policy takes a moment to be in force: the first is refused at last. */
async function outcomes(as: string[], objects: Loose[]): Promise<string[]> {
  const [first, ...others] = objects;
  const create = async (object: Loose) => {
    const args = [...as.with(1, object["metadata"].namespace), "create", "-f", "-"];
    const { code, stderr } = await attempt(cluster, args, JSON.stringify(object));
    return code === 0 ? "created" : / denied request: ([^\n]*)/.exec(stderr)?.[1] ?? stderr;
  };
  const refused = await until(() => create(first!), (says) => says.startsWith("The "));
  const says = [refused];
  for (const object of others) says.push(await create(object));
  return says;
}

test("the keeper creates Events about our kinds, outside system namespaces, and its own Lease", async () => {
  const { ns: { name }, as } = await aProcess(cluster, "keeper");
  const system = "The keeper may not create Events in system namespaces.";
  const foreign = "The keeper may create Events about Sandboxes, claims, pools and templates, and no others.";
  const lease = "The keeper may create and change the Lease hookbox-keeper, and no others.";
  const cases: [object: Loose, says: string][] = [
    [anEvent("kube-system"), system],
    [anEvent(name), "created"],
    [anEvent(name, EXTENSIONS), "created"],
    [anEvent(name, "apps/v1"), foreign],
    [anEvent(name, "v1"), foreign],
    [anEvent("kube-public"), system],
    [anOldEvent("kube-system"), system],
    [aLease(name, "hookbox-keeper"), "created"],
    [aLease(name, "hookbox-binder"), lease],
    [aLease("kube-system", "hookbox-keeper"), lease],
  ];
  expect(await outcomes(as, cases.map(([object]) => object))).toEqual(cases.map(([, says]) => says));
  const change = (...args: string[]) => attempt(cluster, [...as, ...args]);
  const body = JSON.stringify({ spec: { holderIdentity: "me" } });
  expect(await change("patch", "lease", "hookbox-keeper", "--type=merge", "-p", body)).toMatchObject({ code: 0 });
  expect((await change("delete", "lease", "hookbox-keeper")).stderr).toContain(lease);
  expect((await change("delete", "events.events.k8s.io", "--all")).stderr).toContain(foreign);
});

test("the binder writes its own Lease, and no others", async () => {
  const { ns: { name }, as } = await aProcess(cluster, "binder");
  const lease = "The binder may create and change the Lease hookbox-binder, and no others.";
  const cases: [object: Loose, says: string][] = [
    [aLease(name, "hookbox-keeper"), lease],
    [aLease(name, "hookbox-binder"), "created"],
    [aLease("kube-node-lease", "node"), lease],
  ];
  expect(await outcomes(as, cases.map(([object]) => object))).toEqual(cases.map(([, says]) => says));
});

test("the router creates Events about Sandboxes, outside system namespaces", async () => {
  const { ns: { name }, as } = await aProcess(cluster, "router");
  const system = "The router may not create Events in system namespaces.";
  const foreign = "The router may create Events about Sandboxes, and no others.";
  const cases: [object: Loose, says: string][] = [
    [anEvent("kube-system"), system],
    [anEvent(name), "created"],
    [anEvent(name, EXTENSIONS), foreign],
    [anEvent(name, "v1"), foreign],
  ];
  expect(await outcomes(as, cases.map(([object]) => object))).toEqual(cases.map(([, says]) => says));
});
