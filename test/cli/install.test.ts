/** `hookbox install`: what it prints, applies and says. @module */
import { parseAllDocuments } from "yaml";
import { expect, test } from "vitest";
import { bundleObjects, renderBundle } from "../../packages/cli/install/bundle.ts";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { run } from "./fakecontext.ts";

const GROUPS: Record<string, [kind: string, name: string, namespaced: boolean][]> = {
  "/api/v1": [["Namespace", "namespaces", false], ["ServiceAccount", "serviceaccounts", true]],
  "/apis/apiextensions.k8s.io/v1": [["CustomResourceDefinition", "customresourcedefinitions", false]],
  "/apis/rbac.authorization.k8s.io/v1": [
    ["ClusterRole", "clusterroles", false],
    ["ClusterRoleBinding", "clusterrolebindings", false],
    ["Role", "roles", true],
    ["RoleBinding", "rolebindings", true],
  ],
  "/apis/metacontroller.k8s.io/v1alpha1": [
    ["CompositeController", "compositecontrollers", false],
    ["DecoratorController", "decoratorcontrollers", false],
  ],
};

interface Rights extends KubeObject {
  roleRef: { kind: string; name: string };
  subjects: { name: string }[];
}

/** Stores what is applied; `without` leaves out groups. */
function server(without: string[] = []): Api & { stored: Map<string, object>; requests: ApiRequest[] } {
  const stored = new Map<string, object>();
  const requests: ApiRequest[] = [];
  const answer = (request: ApiRequest): Answer => {
    const { method, path, body, query = {} } = request;
    const group = without.includes(path) ? undefined : GROUPS[path];
    if (group) {
      return {
        status: 200,
        body: { resources: group.map(([kind, name, namespaced]) => ({ kind, name, namespaced })) },
      };
    }
    const missing = { status: 404, body: { message: `${path} not found` } };
    if (method === "GET") return stored.has(path) ? { status: 200, body: stored.get(path) } : missing;
    if (request.patch !== "apply") return { status: 415, body: { message: "no merge patch here" } };
    if (query["dryRun"] === undefined) stored.set(path, body as object);
    return { status: 200, body };
  };
  return {
    stored,
    requests,
    send: (request) => (requests.push(request), Promise.resolve(answer(request))),
    watch: () => Promise.reject(new Error("nothing to watch")),
  };
}

test("it prints all kinds, in the namespace that is asked for", async () => {
  const { stdout } = await run("install --hooks-url http://h:1 --system-namespace mine");
  const kinds = parseAllDocuments(stdout).map((document) => String(document.get("kind")));
  expect(new Set(kinds)).toEqual(new Set(Object.values(GROUPS).flat().map(([kind]) => kind)));
  expect(stdout).toContain("url: http://h:1/sandbox/sync");
  expect(stdout).not.toContain("hookbox-system");
});

test("keeper, binder and router have an account each, and the rights of their files; a keeper may be a binder, too", () => {
  const objects = bundleObjects(renderBundle({ hooksURL: undefined, namespace: "n" })) as unknown as Rights[];
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
    ["ClusterRoleBinding", "ClusterRole", ["hookbox-binder", "hookbox-keeper"]],
    ["RoleBinding", "Role", ["hookbox-binder", "hookbox-keeper"]],
  ]);
  expect(bound("hookbox-router")).toEqual([["ClusterRoleBinding", "ClusterRole", ["hookbox-router"]]]);
  const namespaces = objects.filter(({ kind }) => ["Role", "RoleBinding", "ServiceAccount"].includes(kind))
    .map(({ metadata }) => metadata.namespace);
  expect(new Set(namespaces)).toEqual(new Set(["n"]));
});

test("what others need is applied first, controllers last", () => {
  const kinds = bundleObjects(renderBundle({ hooksURL: undefined, namespace: "n" })).map(({ kind }) => kind);
  expect(kinds.slice(0, 2)).toEqual(["Namespace", "CustomResourceDefinition"]);
  expect(kinds.slice(-2).every((kind) => kind.endsWith("Controller"))).toBe(true);
});

test("--apply creates, then changes nothing, then what has changed; --dry-run stores nothing", async () => {
  const api = server();
  const tried = await run("install --dry-run", { api });
  expect(tried.stdout.split("\n").filter(Boolean).every((line) => line.endsWith(" created (dry run)"))).toBe(true);
  expect(api.stored.size).toBe(0);
  const first = await run("install --apply", { api });
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

test("what the API server does not have is said with its remedy, and the rest is applied", async () => {
  const api = server(["/apis/metacontroller.k8s.io/v1alpha1"]);
  const { code, stderr } = await run("install --apply", { api });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /Cannot apply CompositeController: the API server does not serve .*\nInstall Metacontroller 4.17/,
  );
  expect([...api.stored.keys()].some((path) => path.includes("customresourcedefinitions"))).toBe(true);
  expect(await run("install --apply --dry-run")).toMatchObject({ code: 2 });
});
