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
    stdout: `NAME    READY    REASON              CLAIM    AGE
box     True     DependenciesReady   mine     3m12s
fresh   <none>   <none>              <none>   1s
`,
    stderr: "",
  });
});

test("-o wide adds address, node, mode, expiry and pool", async () => {
  const { stdout } = await run("get sbx box -o wide --no-headers", { api: api() });
  expect(stdout).toBe(
    "box   True   DependenciesReady   mine   3m12s   10.0.0.1,fd00::1   n1   Running   60m   <none>\n",
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
    return stdout.trim().split(/\s{2,}/).at(-2);
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
  ["get -o xml", /^Cannot print as "xml": -o takes json, yaml, name, wide\n$/],
  ["get --what", /^Unknown option '--what'\nSee "hookbox get --help"\.\n$/],
  ["gte", /^Unknown command 'gte'/],
] as [string, RegExp][])("%s: code 2", async ([line, words]) => {
  const { code, stdout, stderr } = await run(line, { api: api() });
  expect(stderr).toMatch(words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});
