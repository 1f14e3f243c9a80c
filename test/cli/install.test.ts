/** `hookbox install`: what it prints, applies and says. @module */
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { lackOf } from "../../packages/cli/commands/install.ts";
import { bundleObjects, renderBundle } from "../../packages/cli/install/bundle.ts";
import type { Api } from "../../packages/kube/api.ts";
import { run } from "./fakecontext.ts";
import { GROUPS, server } from "./installserver.ts";

/** Kubernetes has had them since 1.36. The printed YAML may be applied to an older cluster. */
const MUTATING = ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"];

interface Rights extends KubeObject {
  roleRef: { kind: string; name: string };
  subjects: { name: string }[];
}

test("it prints all kinds, in the namespace that is asked for, with the image that is asked for", async () => {
  const { stdout } = await run("install --system-namespace mine --image r.example/h:2");
  const kinds = parseAllDocuments(stdout).map((document) => String(document.get("kind")));
  const all = new Set(Object.values(GROUPS).flat().map(([kind]) => kind));
  expect(new Set(kinds)).toEqual(all.difference(new Set(["Lease", ...MUTATING])));
  expect(stdout).toContain("url: http://sandbox.mine:8080/sandbox/sync");
  expect(stdout).not.toContain("hookbox-system");
  expect(new Set(stdout.match(/ image: .*/g))).toEqual(new Set([" image: r.example/h:2"]));
});

test("the router gets its options, and no others", async () => {
  const args = "--router-arg=--authz-mode=allow-all --router-arg=--domain=d.example";
  const router = (yaml: string) =>
    bundleObjects(yaml).find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "sandbox-router") as {
      spec?: { template: { spec: { containers: { args: string[] }[] } } };
    };
  const argsIn = (yaml: string) => router(yaml).spec?.template.spec.containers[0]?.args;
  const { stdout } = await run(`install ${args}`);
  expect(argsIn(stdout)).toEqual(["router/main.js", "--authz-mode=allow-all", "--domain=d.example"]);
  expect(argsIn((await run("install")).stdout)).toEqual(["router/main.js"]);
  expect(stdout.match(/allow-all/g), "no other process").toHaveLength(1);
});

test.for([
  ["--router-arg=--authz-mode=open", 'Cannot use --router-arg: Cannot use --authz-mode "open"'],
  ["--router-arg=--no-such", 'Cannot use --router-arg: Unknown option "--no-such"'],
  ["--router-arg=--help", "Cannot use --router-arg: --help is not an option of a router that runs"],
  ["--router-arg=--no-wake --no-processes", "Cannot use --router-arg with --no-processes"],
])("install %s is refused", async ([args, message]) => {
  const { code, stdout, stderr } = await run(`install ${args}`);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(message!) });
});

test("hooks that run elsewhere are not installed, and where processes are not wanted nothing that runs is", async () => {
  const elsewhere = await run("install --hooks-url http://h:1");
  expect(elsewhere.stdout).toContain("url: http://h:1/sandbox/sync");
  expect(elsewhere.stdout.match(/^kind: Deployment$/gm)).toHaveLength(3);
  const none = await run("install --no-processes");
  expect(none.stdout).not.toMatch(/^kind: (Deployment|Service|ValidatingAdmissionPolicy)$/m);
  expect(none.stdout).toContain("name: hookbox-keeper");
});

test("keeper, binder and router have an account each, and the rights of their files", () => {
  const objects = bundleObjects(renderBundle({ namespace: "n", processes: false })) as unknown as Rights[];
  const named = (kind: string) => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
  const accounts = ["hookbox-keeper", "hookbox-binder", "hookbox-router"];
  expect(named("ServiceAccount")).toEqual(accounts);
  expect(named("ClusterRole")).toEqual(expect.arrayContaining(accounts));
  const bound = (name: string) =>
    objects.filter(({ kind }) => kind.endsWith("Binding")).filter(({ roleRef }) => roleRef.name === name)
      .map(({ kind, roleRef, subjects }) => [kind, roleRef.kind, subjects.map((subject) => subject.name)]);
  expect(bound("hookbox-keeper")).toEqual([
    ["ClusterRoleBinding", "ClusterRole", ["hookbox-keeper"]],
    ["RoleBinding", "Role", ["hookbox-keeper"]],
  ]);
  expect(bound("hookbox-binder")).toEqual([
    ["ClusterRoleBinding", "ClusterRole", ["hookbox-binder"]],
    ["RoleBinding", "Role", ["hookbox-binder"]],
  ]);
  expect(bound("hookbox-router")).toEqual([["ClusterRoleBinding", "ClusterRole", ["hookbox-router"]]]);
  const namespaces = objects.filter(({ kind }) => ["Role", "RoleBinding", "ServiceAccount"].includes(kind))
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  expect(new Set(namespaces)).toEqual(
    new Set(["n/hookbox-keeper", "n/hookbox-binder", "agent-sandbox-system/hookbox-router"]),
  );
});

interface Policy extends KubeObject {
  spec: {
    matchConstraints: { matchPolicy: string; resourceRules: { apiVersions: string[] }[] };
    matchConditions: { expression: string }[];
    validations: { expression: string }[];
  };
}

const policies = () => {
  const objects = bundleObjects(renderBundle({ namespace: "n", processes: true })) as unknown as Policy[];
  return objects.filter(({ kind }) => kind === "ValidatingAdmissionPolicy");
};

test("each process that writes is under a policy, which judges what is asked for in another version as what it is", () => {
  expect(policies().map(({ metadata }) => metadata.name)).toEqual([
    "hookbox-keeper",
    "hookbox-keeper-records",
    "hookbox-binder",
    "hookbox-binder-records",
    "hookbox-binder-resizes",
    "hookbox-claim-secrets",
    "hookbox-claim-headers",
    "hookbox-router",
    "hookbox-router-records",
  ]);
  for (const { metadata: { name }, spec: { matchConstraints, matchConditions } } of policies()) {
    const account = name.replace(/-(records|resizes)$/, "");
    const namespace = account === "hookbox-router" ? "agent-sandbox-system" : "n";
    // These judge the users who write claims.
    const isOfProcess = !name.startsWith("hookbox-claim-");
    if (isOfProcess) {
      expect(matchConditions[0]?.expression).toContain(`"system:serviceaccount:${namespace}:${account}"`);
    }
    expect(matchConstraints.matchPolicy, name).toBe("Equivalent");
    for (const { apiVersions } of matchConstraints.resourceRules) expect(apiVersions[0], name).toMatch(/^v1(beta1)?$/);
  }
});

test("what others need is applied first, controllers last", () => {
  const kinds = bundleObjects(renderBundle({ namespace: "n", processes: true })).map(({ kind }) => kind);
  expect(kinds.slice(0, 3)).toEqual(["Namespace", "Namespace", "CustomResourceDefinition"]);
  expect(kinds.slice(-2).every((kind) => kind.endsWith("Controller"))).toBe(true);
});

test("--apply creates, then changes nothing, then what has changed; --dry-run stores nothing", async () => {
  const api = server();
  const tried = await run("install --dry-run", { api });
  expect(tried.stdout.split("\n").filter(Boolean).every((line) => line.endsWith(" created (dry run)"))).toBe(true);
  expect(api.stored.size).toBe(0);
  const first = await run("install --apply --image r/h:1", { api });
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(/^namespace\/hookbox-system created\n/);
  expect(first.stdout).toContain("customresourcedefinition.apiextensions.k8s.io/sandboxes.agents.x-k8s.io created\n");
  expect(api.stored.has("/apis/rbac.authorization.k8s.io/v1/namespaces/hookbox-system/roles/hookbox-keeper")).toBe(
    true,
  );
  const again = await run("install --apply", { api });
  expect(again.stdout).not.toMatch(/created|configured/);
  const moved = await run("install --apply --force --hooks-url http://elsewhere:1", { api });
  expect(moved.stdout.match(/^\S+ configured$/gm)?.sort()).toEqual([
    "compositecontroller.metacontroller.k8s.io/sandbox configured",
    "compositecontroller.metacontroller.k8s.io/sandboxwarmpool configured",
    "decoratorcontroller.metacontroller.k8s.io/sandboxclaim configured",
    "decoratorcontroller.metacontroller.k8s.io/sandboxtemplate configured",
  ]);
  expect(api.requests.filter(({ method }) => method === "PATCH").at(-1)?.query).toEqual({
    fieldManager: "hookbox-install",
    force: "true",
  });
});

test("--e2b creates its Secret once, before the processes that mount it", async () => {
  const api = server();
  const first = await run("install --apply --e2b --image r/h:1", { api });
  const written = api.requests.filter(({ method }) => method !== "GET").map(({ path }) => path);
  const indexOf = (end: string) => written.findIndex((path) => path.endsWith(end));
  expect(indexOf("/namespaces/agent-sandbox-system")).toBeGreaterThan(-1);
  expect(indexOf("/secrets")).toBeGreaterThan(indexOf("/namespaces/agent-sandbox-system"));
  expect(indexOf("/deployments/sandbox-router")).toBeGreaterThan(indexOf("/secrets"));
  expect(first.stdout).toContain("secret/hookbox-e2b created");
  const path = "/api/v1/namespaces/agent-sandbox-system/secrets/hookbox-e2b";
  const before = api.stored.get(path);
  expect((await run("install --apply --e2b --image r/h:1", { api })).stdout).not.toContain("secret/hookbox-e2b");
  expect(api.stored.get(path)).toBe(before);
});

test("the policy that keeps managedFields away is applied where the API server knows such a thing", async () => {
  const ofPolicies = async (api: ReturnType<typeof server>) => {
    const { code, stdout, stderr } = await run("install --apply --image r/h:1", { api });
    expect([code, stderr]).toEqual([0, ""]);
    return stdout.match(/^mutating\S+/gm);
  };
  const name = "admissionregistration.k8s.io/hookbox-managed-fields";
  expect(await ofPolicies(server())).toEqual([
    `mutatingadmissionpolicy.${name}`,
    `mutatingadmissionpolicybinding.${name}`,
  ]);
  expect(await ofPolicies(server(MUTATING))).toBeNull();
});

test("what the API server does not have is said with its remedy, and the rest is applied", async () => {
  const api = server(["/apis/metacontroller.k8s.io/v1alpha1"]);
  const { code, stderr } = await run("install --apply --image r/h:1", { api });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /Cannot apply CompositeController: the API server does not serve .*\nInstall Metacontroller 4.17/,
  );
  expect([...api.stored.keys()].some((path) => path.includes("customresourcedefinitions"))).toBe(true);
  expect(await run("install --apply --dry-run")).toMatchObject({ code: 2 });
});

test("--wait goes on until all processes run and are ready, and says which do not in time", async () => {
  const api = server();
  const looks = new Map<string, number>();
  const slow: Api = {
    ...api,
    async send(request) {
      const answer = await api.send(request);
      if (request.method !== "GET" || !request.path.includes("/deployments/") || answer.status !== 200) return answer;
      const seen = (looks.get(request.path) ?? 0) + 1;
      looks.set(request.path, seen);
      const isReady = !request.path.endsWith("/sandbox") || seen > 2;
      const counts = { replicas: 2, updatedReplicas: 2, readyReplicas: isReady ? 2 : 1 };
      return { ...answer, body: { ...answer.body as object, status: counts } };
    },
  };
  const late = await run("install --apply --wait --timeout 1ms --image r/h:1", { api: slow });
  expect(late.code).toBe(1);
  expect(late.stderr).toMatch(/^Not ready after \ds: hookbox-system\/sandbox \(1 of 2\)\nLook at their Pods: /);
  const done = await run("install --apply --wait", { api: slow });
  expect(done).toMatchObject({
    code: 0,
    stderr: 'All processes are ready. To check the rest, run "hookbox doctor".\n',
  });
  expect((await run("install --wait")).stderr).toBe("Cannot use --wait without --apply\n");
});

test.for([
  { why: "all are new and ready", status: [3, 2, 2, 2], lack: undefined },
  { why: "nobody has seen the change", status: [2, 2, 2, 2], lack: "n/d (0 of 2)" },
  { why: "one is not new", status: [3, 1, 2, 2], lack: "n/d (1 of 2)" },
  { why: "one is not ready", status: [3, 2, 1, 2], lack: "n/d (1 of 2)" },
  { why: "an old one is left", status: [3, 2, 2, 3], lack: "n/d (2 of 2, and 1 old)" },
])("lackOf() where $why", ({ status, lack }) => {
  const [observedGeneration = 0, updatedReplicas = 0, readyReplicas = 0, replicas = 0] = status;
  const rollout = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "n", name: "d", generation: 3 },
    spec: { replicas: 2 },
    status: { observedGeneration, updatedReplicas, readyReplicas, replicas },
  };
  expect(lackOf(rollout)).toBe(lack);
});

test("lackOf() where there is no status yet", () => {
  const metadata = { namespace: "n", name: "d", generation: 1 };
  expect(lackOf({ apiVersion: "apps/v1", kind: "Deployment", metadata, spec: {} })).toBe("n/d (0 of 1)");
});
