/** `hookbox project`: what it creates, what it stores of keys, and what it refuses. @module */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { keyHash, namespaceOfKey } from "../../packages/api/e2b/identity.ts";
import type { Answer, Api } from "../../packages/kube/api.ts";
import { run } from "./fakecontext.ts";

const RESOURCES: Record<string, [kind: string, name: string, namespaced: boolean][]> = {
  "/api/v1": [
    ["Namespace", "namespaces", false],
    ["Secret", "secrets", true],
    ["ResourceQuota", "resourcequotas", true],
    ["LimitRange", "limitranges", true],
  ],
  "/apis/networking.k8s.io/v1": [["NetworkPolicy", "networkpolicies", true]],
  "/apis/rbac.authorization.k8s.io/v1": [["RoleBinding", "rolebindings", true]],
  "/apis/extensions.agents.x-k8s.io/v1beta1": [
    ["SandboxTemplate", "sandboxtemplates", true],
    ["SandboxWarmPool", "sandboxwarmpools", true],
  ],
};

interface Stored {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  data?: Record<string, string>;
  spec?: { hard: object };
  status?: { hard: object; used: object };
}

const NONE_USED = { "count/sandboxclaims.extensions.agents.x-k8s.io": "0" };

/** An API server that stores objects by path. */
function anAPI(): Api & { stored: Map<string, Stored> } {
  const stored = new Map<string, Stored>();
  const missing: Answer = { status: 404, body: { message: "not found" } };
  return {
    stored,
    watch: () => Promise.reject(new Error("Cannot watch")),
    send({ method, path, body, patch }): Promise<Answer> {
      const group = RESOURCES[path];
      const found = stored.get(path);
      if (group) {
        const resources = group.map(([kind, name, namespaced]) => ({ kind, name, namespaced }));
        return Promise.resolve({ status: 200, body: { resources } });
      }
      const object = body as Stored;
      const keep = (at: string, kept: Stored): Answer => {
        stored.set(at, structuredClone(kept));
        return { status: 200, body: kept };
      };
      if (method === "POST") {
        const at = `${path}/${object.metadata.name}`;
        return Promise.resolve(stored.has(at) ? { status: 409, body: {} } : keep(at, object));
      }
      if (method === "PATCH" && patch === "apply") {
        const isQuota = object.kind === "ResourceQuota";
        const counted = isQuota && object.spec ? { status: { hard: object.spec.hard, used: NONE_USED } } : {};
        return Promise.resolve(keep(path, { ...object, ...counted }));
      }
      if (method === "PATCH" && found) {
        const data = Object.entries({ ...found.data, ...object.data }).filter(([, value]) => value !== null);
        return Promise.resolve(keep(path, { ...found, data: Object.fromEntries(data) }));
      }
      if (/\/(namespaces|resourcequotas)$/.test(path)) {
        const items = [...stored].filter(([at]) => at.startsWith(`${path}/`)).map(([, item]) => item);
        return Promise.resolve({ status: 200, body: { items } });
      }
      return Promise.resolve(found ? { status: 200, body: found } : missing);
    },
  };
}

const KEYS = "/api/v1/namespaces/demo/secrets/hookbox-e2b-keys";
const created = async (args = "--image hookbox-agent:local") => {
  const api = anAPI();
  return { api, ...await run(`project create demo ${args}`, { api }) };
};

test("create prints a key, stores only its hash, and brings what a project needs", async () => {
  const { api, code, stdout, stderr } = await created();
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("It is shown only now:") });
  const key = stdout.trim();
  expect(key).toMatch(/^e2b_[0-9a-f]+$/);
  expect(namespaceOfKey(key)).toBe("demo");
  const entry = JSON.parse(Buffer.from(api.stored.get(KEYS)?.data?.["default"] ?? "", "base64").toString());
  expect(entry).toMatchObject({ sha256: keyHash(key), rights: ["create", "connect", "read"] });
  expect(JSON.stringify([...api.stored])).not.toContain(key);
  expect([...api.stored.values()].map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
    "LimitRange hookbox-project",
    "Namespace demo",
    "NetworkPolicy hookbox-default-deny",
    "ResourceQuota hookbox-project",
    "RoleBinding hookbox-binder-late",
    "RoleBinding hookbox-e2b-project",
    "SandboxTemplate base",
    "SandboxWarmPool base",
    "Secret hookbox-e2b-keys",
    "Secret hookbox-runtime-key",
  ]);
});

const USERS = ["--user", "user", "--allow-users", "root"];
test.for<[string, boolean | undefined, string[], object]>([
  ["", undefined, [], { allowPrivilegeEscalation: false }],
  ["--root", false, USERS, { runAsUser: 0 }],
  ["--root --host-users", undefined, USERS, { runAsUser: 0 }],
])(
  'with "%s", the template says who may become root, and of what',
  async ([args, hostUsers, users, securityContext]) => {
    const { stdout } = await run(`project create demo --image hookbox-agent:local --dry-run ${args}`.trim());
    const objects = parseAllDocuments(stdout).map((document) => document.toJS());
    const { spec } = objects.find(({ kind }) => kind === "SandboxTemplate").spec.podTemplate;
    expect(spec.hostUsers).toBe(hostUsers);
    expect(spec.containers[0]).toMatchObject({ securityContext });
    expect(spec.containers[0].args).toEqual(["--token-scope", "bind", "--workdir", "/home/user", ...users]);
  },
);

test("create again changes no key and shows none", async () => {
  const { api } = await created();
  const before = JSON.stringify([api.stored.get(KEYS), api.stored.get(KEYS.replace("e2b-keys", "runtime-key"))]);
  const { code, stdout, stderr } = await run("project create demo --image hookbox-agent:local", { api });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: expect.stringContaining("exists already") });
  expect(JSON.stringify([api.stored.get(KEYS), api.stored.get(KEYS.replace("e2b-keys", "runtime-key"))])).toBe(before);
});

test("create again says which options change, and with the same options that none does", async () => {
  const { api } = await created("--image hookbox-agent:local --storage 2Gi --root --sandboxes 100");
  const changed = async (args: string) => {
    const { code, stderr } = await run(`project create demo ${args}`, { api });
    return { code, changes: stderr.split("\n").filter((line) => line.startsWith("Changed: ")) };
  };
  expect(await changed("--image hookbox-agent:local --storage 2Gi --root --sandboxes 100")).toEqual({
    code: 0,
    changes: [],
  });
  expect(await changed("--image hookbox-agent:local --size 5")).toEqual({
    code: 0,
    changes: [
      "Changed: --sandboxes was 100, and is now 20",
      "Changed: --storage was 2Gi, and is now not set",
      "Changed: --root was set, and is now not set",
      "Changed: --size was 2, and is now 5",
    ],
  });
  expect((await changed("--no-pool --sandboxes 30")).changes).toEqual(["Changed: --sandboxes was 20, and is now 30"]);
});

test("create leaves a namespace alone that is not a project", async () => {
  const api = anAPI();
  const other = { kind: "Namespace", metadata: { name: "demo" } };
  api.stored.set("/api/v1/namespaces/demo", other);
  const { code, stderr } = await run("project create demo --no-pool", { api });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("is not a project") });
  expect([...api.stored.values()]).toEqual([other]);
});

test.for([
  ["create demo", "add --image, or --no-pool"],
  ["create Demo --no-pool", 'Cannot use "Demo" as the name of a project'],
  ["create demo --no-pool --sandboxes 0", "--sandboxes"],
  ["create demo --no-pool --memory much", 'Cannot use --memory "much"'],
  ["create demo --no-pool --key a/b", 'Cannot use "a/b" as the name of an API key'],
  ["create demo --no-pool --root", "Cannot use --root with --no-pool"],
  ["create demo --no-pool --image x", "Cannot use --image with --no-pool"],
  ["create demo --no-pool --host-users", "Cannot use --host-users without --root"],
  ["create demo --no-pool -n other", "Unknown option '-n'"],
  ["key create demo", 'See "hookbox project key create --help".'],
  ["key rotate demo ci --overlap soon", 'Cannot use --overlap "soon"'],
  ["key create demo ci --rights write", 'Cannot use --rights "write"'],
])("%s is refused before anything is sent", async ([args, message]) => {
  const api = anAPI();
  const { code, stderr } = await run(`project ${args}`, { api });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message!) });
  expect(api.stored.size).toBe(0);
});

test("keys are created with rights, listed without their values, and revoked", async () => {
  const { api } = await created();
  const made = await run("project key create demo ci --rights read,connect", { api });
  expect(made.stdout).toMatch(/^e2b_/);
  const twice = await run("project key create demo ci", { api });
  expect(twice).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("has a key of this name") });
  const listed = await run("project key list demo", { api });
  expect(listed.stdout).toMatch(
    /^NAME +RIGHTS +LAST USED +AGE +OLD KEY\nci +connect,read +never +\S+ +<none>\ndefault +create,connect,read/,
  );
  expect((await run("project key list demo -o json", { api })).stdout).not.toMatch(/sha256|e2b_/);
  expect((await run("project key revoke demo ci", { api })).code).toBe(0);
  expect(Object.keys(api.stored.get(KEYS)?.data ?? {})).toEqual(["default"]);
  const again = await run("project key revoke demo ci", { api });
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("has none of this name") });
});

test("a key is rotated: its name and rights stay, and the old value has an end", async () => {
  const { api } = await created();
  const before = await run("project key create demo ci --rights read", { api });
  const stored = () => JSON.parse(Buffer.from(api.stored.get(KEYS)?.data?.["ci"] ?? "", "base64").toString());
  const { code, stdout, stderr } = await run("project key rotate demo ci --overlap 2h", { api });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'API key "ci" of project demo. It is shown only now; the old one works for 120m more:\n',
  });
  const { sha256, rights, createdAt, replaced } = stored();
  expect({ sha256, rights }).toEqual({ sha256: keyHash(stdout.trim()), rights: ["read"] });
  expect(replaced.sha256).toBe(keyHash(before.stdout.trim()));
  expect(Date.parse(replaced.until) - Date.parse(createdAt)).toBe(7_200_000);
  expect((await run("project key list demo", { api })).stdout).toMatch(/ci +read +never +\S+ +never used, ends in /);
  expect((await run("project key list demo -o json", { api })).stdout).not.toMatch(/sha256|e2b_/);
  await run("project key rotate demo ci --overlap 0", { api });
  expect(stored()).not.toHaveProperty("replaced");
  const other = await run("project key rotate demo other", { api });
  expect(other).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("has none of this name") });
});

test("list shows projects and their keys", async () => {
  const { api } = await created();
  const { stdout } = await run("project list", { api });
  expect(stdout).toMatch(/^NAME +SANDBOXES +MOST +KEYS +AGE\ndemo +0 +20 +1 /);
});
