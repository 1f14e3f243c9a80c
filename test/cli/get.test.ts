/** `hookbox get` against an API server of the test's. @module */
import { parse } from "yaml";
import { expect, test } from "vitest";
import { idleExpiryText } from "../../packages/api/expiry.ts";
import { fakeApi, listOf, run } from "./fakecontext.ts";

const SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes";
const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default";
const box = {
  metadata: {
    name: "box",
    namespace: "default",
    creationTimestamp: "2026-11-21T11:56:48Z",
    ownerReferences: [{ apiVersion: "x/v1", kind: "SandboxClaim", name: "mine", uid: "u", controller: true }],
  },
  spec: { operatingMode: "Running", shutdownTime: "2026-11-21T13:00:00Z" },
  status: {
    nodeName: "n1",
    podIPs: ["10.0.0.1", "fd00::1"],
    conditions: [{ type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime: "" }],
  },
};
const fresh = {
  metadata: { name: "fresh", namespace: "default", creationTimestamp: "2026-11-21T11:59:59Z" },
  spec: { operatingMode: "Suspended" },
};
const api = () =>
  fakeApi({
    [`GET ${SANDBOXES}`]: listOf("agents.x-k8s.io/v1beta1", "Sandbox", box, fresh),
    [`GET ${SANDBOXES}/box`]: { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", ...box },
    [`GET ${EXTENSIONS}/sandboxclaims`]: listOf("extensions.agents.x-k8s.io/v1beta1", "SandboxClaim"),
    [`GET ${EXTENSIONS}/sandboxwarmpools`]: { status: 403, body: { message: "you may not", reason: "Forbidden" } },
  });

test("without a kind it shows Sandboxes", async () => {
  expect(await run("get", { api: api() })).toEqual({
    code: 0,
    stdout: `NAME    STATUS      CLAIM    AGE
box     Running     mine     3m12s
fresh   Suspended   <none>   1s
`,
    stderr: "",
  });
});

test("-o wide adds address, node, expiry, pool and a sentence about the status", async () => {
  const { stdout } = await run("get sbx box -o wide --no-headers", { api: api() });
  expect(stdout).toBe(
    "box   Running   mine   3m12s   10.0.0.1,fd00::1   n1   60m   <none>   <none>\n",
  );
});

test("-o wide shows no expiry of a copy where a router has set that of the original", async () => {
  const shutdownTime = "2026-11-21T11:00:00Z";
  const text = idleExpiryText({ metadata: { uid: "of-another", generation: 1 }, spec: {} }, shutdownTime);
  const metadata = { ...fresh.metadata, uid: "u", annotations: { "router.agents.x-k8s.io/idle-expired": text } };
  const copy = { ...fresh, apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata };
  const one = (object: object) => fakeApi({ [`GET ${SANDBOXES}/fresh`]: object });
  const expires = async (object: object) => {
    const { stdout } = await run("get sbx fresh -o wide --no-headers", { api: one(object) });
    return stdout.trim().split(/\s{2,}/)[6];
  };
  const spec = { ...fresh.spec, shutdownTime, shutdownPolicy: "Delete" };
  expect(await expires({ ...copy, spec })).toBe("<none>");
  expect(await expires({ ...copy, spec: { ...spec, shutdownTime: "2026-11-21T10:00:00Z" } })).toBe("expired");
});

test.for(["get sandboxes box", "get sandbox/box", "get sbx box", "get Sandbox box -n default"])(
  "%s finds it",
  async (line) => {
    expect((await run(`${line} -o name`, { api: api() })).stdout).toBe("sandbox.agents.x-k8s.io/box\n");
  },
);

test("-o json of one that is named is the object, of all a List of objects that say what they are", async () => {
  const one = JSON.parse((await run("get sbx box -o json", { api: api() })).stdout);
  expect(one.metadata.name).toBe("box");
  const all = JSON.parse((await run("get sbx -o json", { api: api() })).stdout);
  expect(all).toMatchObject({ kind: "List", items: [{ kind: "Sandbox", apiVersion: "agents.x-k8s.io/v1beta1" }, {}] });
  expect(parse((await run("get sbx -o yaml", { api: api() })).stdout)).toEqual(all);
});

const crashing = {
  metadata: {
    name: "crashing",
    namespace: "default",
    uid: "u1",
    creationTimestamp: "2026-11-21T11:50:00Z",
    labels: { b: "2", a: "1" },
  },
  spec: { operatingMode: "Running" },
  status: {
    conditions: [{
      type: "Ready",
      status: "False",
      reason: "DependenciesNotReady",
      message: "",
      lastTransitionTime: "2026-11-21T11:59:50Z",
    }],
  },
};
const crashingPod = {
  metadata: {
    name: "crashing",
    namespace: "default",
    ownerReferences: [{ kind: "Sandbox", uid: "u1", controller: true }],
  },
  spec: { nodeName: "n1" },
  status: {
    phase: "Running",
    containerStatuses: [{
      name: "main",
      restartCount: 6,
      ready: false,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 3 } },
    }],
  },
};
const settled = {
  ...box,
  status: {
    conditions: [{
      type: "Ready",
      status: "True",
      reason: "DependenciesReady",
      message: "",
      lastTransitionTime: "2026-11-21T11:00:00Z",
    }],
  },
};
const mixed = (pod: unknown = crashingPod) =>
  fakeApi({
    [`GET ${SANDBOXES}`]: listOf("agents.x-k8s.io/v1beta1", "Sandbox", settled, crashing, fresh),
    "GET /api/v1/namespaces/default/pods/crashing": pod,
  });

test("STATUS is that of the Pod, which is read only where the Sandbox does not tell", async () => {
  const asked = mixed();
  const { stdout } = await run("get --no-headers", { api: asked });
  expect(stdout.split("\n").map((line) => line.split(/ {3,}/).slice(0, 2).join(": "))).toEqual([
    "box: Running",
    "crashing: CrashLoopBackOff (6 restarts, exit code 3)",
    "fresh: Suspended",
    "",
  ]);
  expect(asked.requests.map(({ path }) => path)).toEqual([SANDBOXES, "/api/v1/namespaces/default/pods/crashing"]);
});

test("without the right to read Pods, STATUS comes from the Sandbox", async () => {
  const { code, stdout, stderr } = await run("get", { api: mixed({ status: 403, body: { message: "no" } }) });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^crashing +Starting/m);
});

test("on a terminal, problems are red", async () => {
  const { stdout } = await run("get", { api: mixed(), isTTY: true });
  expect(stdout).toContain("\x1b[31mCrashLoopBackOff (6 restarts, exit code 3)\x1b[0m");
  expect(stdout).toContain("\x1b[32mRunning\x1b[0m");
});

test("some Pods are one short list, so that one connection is enough; what it lacks is read singly", async () => {
  const two = ["c1", "c2"].map((name) => ({ ...crashing, metadata: { ...crashing.metadata, name } }));
  const sandboxes = listOf("agents.x-k8s.io/v1beta1", "Sandbox", ...two);
  const pods = "/api/v1/namespaces/default/pods";
  const podOf = (name: string) => ({ ...crashingPod, metadata: { ...crashingPod.metadata, name } });
  const statusesWith = async (list: unknown) => {
    const asked = fakeApi({
      [`GET ${SANDBOXES}`]: sandboxes,
      [`GET ${pods}`]: list,
      [`GET ${pods}/c2`]: podOf("c2"),
      [`GET ${pods}/c1`]: podOf("c1"),
    });
    const { stdout } = await run("get --no-headers", { api: asked });
    expect(stdout.match(/CrashLoopBackOff/g)).toHaveLength(2);
    return asked.requests.slice(1).map(({ path, query }) => [path, ...query?.["limit"] ? [query["limit"]] : []]);
  };
  expect(await statusesWith({ items: two.map(({ metadata }) => podOf(metadata.name)) })).toEqual([[pods, "50"]]);
  expect(await statusesWith({ items: [podOf("c1")], metadata: { continue: "more" } }))
    .toEqual([[pods, "50"], [`${pods}/c2`]]);
  expect(await statusesWith({ status: 403, body: { message: "no" } }), "the right to get is enough")
    .toEqual([[pods, "50"], [`${pods}/c1`], [`${pods}/c2`]]);
});

test("many Pods are one list", async () => {
  const many = Array.from(
    { length: 20 },
    (_, i) => ({ ...crashing, metadata: { ...crashing.metadata, name: `c${i}` } }),
  );
  const asked = fakeApi({ [`GET ${SANDBOXES}`]: listOf("agents.x-k8s.io/v1beta1", "Sandbox", ...many) });
  await run("get", { api: asked });
  expect(asked.requests.map(({ path, query }) => [path, query?.["labelSelector"]])).toEqual([
    [SANDBOXES, undefined],
    ["/api/v1/namespaces/default/pods", "agents.x-k8s.io/sandbox-name-hash"],
  ]);
});

test.for([
  ["status", "crashing box fresh"],
  ["age", "fresh box crashing"],
  ["name", "box crashing fresh"],
  [".metadata.creationTimestamp", "crashing box fresh"],
  ["{.spec.shutdownTime}", "box crashing fresh"],
])("--sort-by %s: %s", async ([column = "", want]) => {
  const { stdout } = await run(["get", "--no-headers", "--sort-by", column], { api: mixed() });
  expect(stdout.trim().split("\n").map((line) => line.split(" ")[0]).join(" ")).toBe(want);
});

test("--show-labels adds them, sorted", async () => {
  const { stdout } = await run("get --show-labels --no-headers", { api: mixed() });
  expect(stdout).toMatch(/a=1,b=2\n/);
});

test.for([
  ["jsonpath={.items[*].metadata.name}", "box crashing fresh"],
  ["jsonpath=.items[0].metadata.name", "box"],
  [
    'jsonpath={range .items[*]}{.metadata.name}{"\\t"}{.spec.operatingMode}{"\\n"}{end}',
    "box\tRunning\ncrashing\tRunning\nfresh\tSuspended\n",
  ],
  [
    "custom-columns=NAME:.metadata.name,MODE:{.spec.operatingMode},IP:.status.podIPs[*]",
    "NAME       MODE        IP\nbox        Running     <none>\ncrashing   Running     <none>\nfresh      Suspended   <none>\n",
  ],
])("-o %s", async ([format = "", want]) => {
  const asked = mixed();
  expect((await run(["get", "-o", format], { api: asked })).stdout).toBe(want);
  expect(asked.requests.map(({ path }) => path)).toEqual([SANDBOXES]);
});

test("-n and -l reach the API server, also before the command", async () => {
  const asked = fakeApi({});
  await run("-n there get claims -l a=b", { api: asked });
  await run("get claims -A", { api: asked });
  expect(asked.requests.map(({ path, query }) => [path, query?.["labelSelector"]])).toEqual([
    ["/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/there/sandboxclaims", "a=b"],
    ["/apis/extensions.agents.x-k8s.io/v1beta1/sandboxclaims", undefined],
  ]);
});

test("nothing on stdout where there is nothing", async () => {
  const ran = await run("get claims", { api: api() });
  expect(ran).toEqual({ code: 0, stdout: "", stderr: "No claims found in default namespace.\n" });
});

test("a refusal is one line on stderr, and code 1", async () => {
  const { code, stdout, stderr } = await run("get pools", { api: api() });
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: "",
    stderr: "Cannot list sandboxwarmpools: you may not\n",
  });
  expect((await run("get sbx none", { api: api() })).stderr).toMatch(
    /^Cannot get Sandbox default\/none: .*not found\n$/,
  );
});

test.for([
  ["get cheese", /^Cannot get "cheese": the kinds are sandboxes, claims, pools, templates\n$/],
  ["get sbx/a claim/b", /^Cannot get several kinds at once/],
  ["get sbx a -A", /^Cannot get by name in all namespaces/],
  ["get -o xml", /^Cannot print as "xml": -o takes json, yaml, name, wide, jsonpath=…, custom-columns=…\n$/],
  ["get -o jsonpath", /^Cannot print as "jsonpath": it needs a value, such as -o jsonpath='/],
  ["get -o jsonpath={.items[}", /^Cannot use JSONPath "\{\.items\[\}": a closing } is missing/],
  ["get -o jsonpath={range\\u0020.items}", /^Cannot use JSONPath/],
  ["get -o custom-columns=NAME", /^Cannot use column "NAME": write HEADER:PATH/],
  ["get --sort-by size", /^Cannot sort by "size": the columns are name, status, claim, age; or write a JSONPath/],
  ["get --what", /^Unknown option '--what'\nSee "hookbox get --help"\.\n$/],
  ["gte", /^Unknown command 'gte'/],
] as [string, RegExp][])("%s: code 2", async ([line, words]) => {
  const { code, stdout, stderr } = await run(line, { api: api() });
  expect(stderr).toMatch(words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});
