/** What the demo creates on a cluster that exists is removed, and nothing else, whatever happens in between. @module */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import {
  createAll,
  type CreatedObject,
  existingOf,
  type Ledger,
  ledgerFile,
  openLedger,
  removalOrder,
  removeAll,
} from "../../../dev/demo/ledger.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Answer, Api } from "../../../packages/kube/api.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const RESOURCES: Record<string, [kind: string, name: string, namespaced: boolean][]> = {
  "/api/v1": [["Namespace", "namespaces", false], ["ConfigMap", "configmaps", true]],
  "/apis/apiextensions.k8s.io/v1": [["CustomResourceDefinition", "customresourcedefinitions", false]],
  "/apis/metacontroller.k8s.io/v1alpha1": [["CompositeController", "compositecontrollers", false]],
};
const SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/sandboxes";

const object = (apiVersion: string, kind: string, name: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...namespace === undefined ? {} : { namespace } },
});
const DEMO = object("v1", "Namespace", "demo");
const SYSTEM = object("v1", "Namespace", "system");
const CONFIG = object("v1", "ConfigMap", "config", "system");
const CRD = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "sandboxes.agents.x-k8s.io");
const CONTROLLER = object("metacontroller.k8s.io/v1alpha1", "CompositeController", "sandbox");
const ALL = [DEMO, SYSTEM, CRD, CONFIG, CONTROLLER];

/** An API server that stores objects. */
function apiServer() {
  const stored = new Map<string, KubeObject>();
  const deleted: string[] = [];
  const lists: Record<string, KubeObject[]> = {};
  const refused = { path: "" };
  /** Namespaces that are being deleted forever. */
  const stuck = new Set<string>();
  let uids = 0;
  const answer = (method: string, path: string, body: unknown): Answer => {
    const missing = { status: 404, body: { message: `${path} not found` } };
    if (RESOURCES[path]) {
      const resources = RESOURCES[path].map(([kind, name, namespaced]) => ({ kind, name, namespaced }));
      return { status: 200, body: { resources } };
    }
    if (lists[path]) return { status: 200, body: { items: lists[path] } };
    if (path === refused.path) return { status: 403, body: { message: `${path} is forbidden` } };
    if (method === "GET") return stored.has(path) ? { status: 200, body: stored.get(path) } : missing;
    if (method === "POST") {
      const { metadata } = body as KubeObject;
      const at = `${path}/${metadata.name}`;
      if (stored.has(at)) return { status: 409, body: { message: "exists" } };
      const created = { ...body as KubeObject, metadata: { ...metadata, uid: `uid-${uids++}` } };
      stored.set(at, created);
      return { status: 201, body: created };
    }
    const found = stored.get(path);
    if (!found) return missing;
    const { uid } = (body as { preconditions: { uid: string } }).preconditions;
    if (found.metadata.uid !== uid) return { status: 409, body: { message: "another UID" } };
    deleted.push(path);
    if (!stuck.has(path)) stored.delete(path);
    return { status: 200, body: {} };
  };
  const api: Api = {
    send: ({ method, path, body }) => Promise.resolve(answer(method, path, body)),
    watch: () => Promise.reject(new Error("nothing to watch")),
  };
  return { api, stored, deleted, lists, refused, stuck };
}

const { signal } = new AbortController();
const newLedger = (): Ledger => openLedger(join(makeTempFolder(), "demo.json"), "demo");
const quiet = () => {};

test("what it has created is removed: the namespace of the chapters first, the rest in reverse order", async () => {
  const { api, stored, deleted } = apiServer();
  const ledger = newLedger();
  await createAll(api, ledger, ALL, signal);
  expect(stored.size).toBe(ALL.length);
  expect(await removeAll(api, ledger, quiet)).toBeUndefined();
  expect(deleted).toEqual([
    "/api/v1/namespaces/demo",
    "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/sandbox",
    "/api/v1/namespaces/system/configmaps/config",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sandboxes.agents.x-k8s.io",
    "/api/v1/namespaces/system",
  ]);
  expect(stored.size).toBe(0);
  ledger.close();
  expect(existsSync(ledger.file)).toBe(false);
});

test("what was there before stays, and so does what has replaced an object since", async () => {
  const { api, stored } = apiServer();
  await api.send({ method: "POST", path: "/api/v1/namespaces", body: SYSTEM });
  expect(await existingOf(api, ALL)).toEqual([SYSTEM]);
  const ledger = newLedger();
  await createAll(api, ledger, ALL, signal);
  expect(ledger.entries().map(({ name }) => name)).not.toContain("namespace/system");
  const config = "/api/v1/namespaces/system/configmaps/config";
  stored.set(config, { ...CONFIG, metadata: { ...CONFIG.metadata, uid: "of-another" } });
  expect(await removeAll(api, ledger, quiet)).toBeUndefined();
  expect([...stored.keys()].sort()).toEqual(["/api/v1/namespaces/system", config]);
});

test("after a failure on the way, what was created until then is removed", async () => {
  const { api, stored, refused } = apiServer();
  const ledger = newLedger();
  refused.path = "/api/v1/namespaces/system/configmaps";
  await expect(createAll(api, ledger, ALL, signal)).rejects.toThrow("Cannot create configmap/config: ");
  expect(stored.size).toBe(3);
  expect(await removeAll(api, ledger, quiet)).toBeUndefined();
  expect(stored.size).toBe(0);
});

test("an interruption ends the creation between two objects", async () => {
  const { api, stored } = apiServer();
  const abort = new AbortController();
  const ledger = newLedger();
  const send: Api["send"] = (request) => {
    if (request.method === "POST") abort.abort(new Error("Interrupted"));
    return api.send(request);
  };
  await expect(createAll({ ...api, send }, ledger, ALL, abort.signal)).rejects.toThrow("Interrupted");
  expect([...stored.keys()]).toEqual(["/api/v1/namespaces/demo"]);
  expect(ledger.entries()).toHaveLength(1);
});

test.for([
  { what: "a Sandbox", path: SANDBOXES, name: "mine", want: "sandboxes team/mine" },
  {
    what: "a controller",
    path: "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers",
    name: "other",
    want: "compositecontrollers team/other",
  },
])("if others have $what by now, only the namespace of the chapters is removed", async ({ path, name, want }) => {
  const { api, stored, lists } = apiServer();
  const ledger = newLedger();
  const metacontroller = { ...CRD, metadata: { name: "compositecontrollers.metacontroller.k8s.io" } };
  await createAll(api, ledger, [...ALL, metacontroller], signal);
  const own = stored.get("/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/sandbox")!;
  const others = { metadata: { namespace: "team", name, uid: "of-another" } } as KubeObject;
  lists[path] = path === SANDBOXES ? [others] : [own, others];
  expect(await removeAll(api, ledger, quiet)).toContain(want);
  expect(stored.has("/api/v1/namespaces/demo")).toBe(false);
  expect(stored.size).toBe(ALL.length);
  expect(ledger.entries()).toHaveLength(ALL.length);
  lists[path] = [own];
  if (path === SANDBOXES) lists[path] = [];
  expect(await removeAll(api, ledger, quiet)).toBeUndefined();
  expect(stored.size).toBe(0);
});

test("what does not go is reported, stays recorded, and is removed the next time", async () => {
  const { api, stored, stuck } = apiServer();
  const ledger = newLedger();
  await createAll(api, ledger, ALL, signal);
  stuck.add("/api/v1/namespaces/demo");
  expect(await removeAll(api, ledger, quiet, 0)).toContain("namespace/demo was deleted, but is not gone yet");
  expect(stored.size).toBe(ALL.length);
  ledger.close();
  const later = openLedger(ledger.file, "another");
  expect(later.namespace).toBe("demo");
  stuck.clear();
  expect(await removeAll(api, later, quiet)).toBeUndefined();
  expect(stored.size).toBe(0);
});

test("only one demo uses a cluster at a time", () => {
  const file = join(makeTempFolder(), "demo.json");
  writeFileSync(file, JSON.stringify({ namespace: "demo", owner: process.ppid, entries: [] }));
  expect(() => openLedger(file, "demo")).toThrow(`another demo uses this cluster (process ${process.ppid})`);
  writeFileSync(file, JSON.stringify({ namespace: "demo", owner: 2 ** 30, entries: [] }));
  openLedger(file, "mine");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ namespace: "mine", owner: process.pid });
});

test("the file of a cluster has a name that every file system accepts", () => {
  const names = ["arn:aws:eks:eu-west-1:1:cluster/a", "a"].map((context) => ledgerFile(context, "https://h", "/f"));
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name).toMatch(/^\/f\/demo-[0-9a-f]{12}\.json$/);
  expect(ledgerFile("a", "https://h", "/f")).not.toBe(ledgerFile("a", "https://other", "/f"));
});

test("removalOrder() keeps a namespace of the same name apart only if the demo has created it", () => {
  const entry = (kind: string, path: string): CreatedObject => ({ kind, path, uid: path, name: path });
  const [a, b] = [entry("ConfigMap", "/api/v1/namespaces/demo/configmaps/demo"), entry("Namespace", "/x/other")];
  expect(removalOrder([a, b], "demo")).toEqual([b, a]);
});
