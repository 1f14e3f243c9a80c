/** The roles for people on a real API server: who has only `hookbox-edit` sees each list and creates a claim. @module */
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyHash } from "../../packages/api/e2b/identity.ts";
import { KEYS_SECRET } from "../../packages/api/e2b/objects.ts";
import { pathOf } from "../../packages/kube/api.ts";
import { shownKeys } from "../../packages/router/dashboard/apikeys.ts";
import { chunksOf } from "../router/dashboard/stage.ts";
import { DEPLOY } from "./chart.ts";
import { attempt, run, until } from "./kubectl.ts";
import { makeNamespace, type Namespace } from "./namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "./pools.ts";
import { suite } from "./suite.ts";

const LISTS =
  "sandboxes sandboxclaims sandboxwarmpools sandboxtemplates pods events persistentvolumeclaims resourcequotas services " +
  "networkpolicies leases deployments";

/** Makes a ServiceAccount with one role in the namespace; returns its verbs. */
async function somebody(ns: Namespace, name: string, role: string) {
  await ns.kubectl("create", "serviceaccount", name);
  await ns.kubectl("create", "rolebinding", name, `--clusterrole=${role}`, `--serviceaccount=${ns.name}:${name}`);
  const as = `--as=system:serviceaccount:${ns.name}:${name}`;
  return {
    attempt: (...args: string[]) => ns.attempt(...args, as),
    create: (object: object) => attempt(ns.cluster, ["-n", ns.name, "create", "-f", "-", as], JSON.stringify(object)),
    can: async (...args: string[]) => (await ns.attempt("auth", "can-i", ...args, as)).stdout.trim() === "yes",
  };
}

test("hookbox-edit alone is enough to see each list and to get a sandbox; Secrets and other namespaces stay closed", async () => {
  await run(suite, ["apply", "-k", join(DEPLOY, "users")]);
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const ada = await somebody(ns, "ada", "hookbox-edit");
  for (const list of LISTS.split(" ")) expect(await ada.attempt("get", list), list).toMatchObject({ code: 0 });
  expect((await ada.attempt("get", "secrets")).stderr).toContain("forbidden");
  expect((await ada.attempt("get", "sandboxes", "-n", "default")).stderr).toContain("forbidden");
  expect(await ada.create(aClaim("c", "p"))).toMatchObject({ code: 0, stderr: "" });
  await untilReady(ns, "c");
  const [sandbox] = await ns.list("sandbox");
  expect(await ada.can("connect", `sandboxes.agents.x-k8s.io/${sandbox.metadata.name}`)).toBe(true);
  expect(await ada.attempt("delete", "sandboxclaim", "c", "--wait=false")).toMatchObject({ code: 0 });
});

test("hookbox-view only looks; Kubernetes' own view and edit have the same rights on the four kinds", async () => {
  await run(suite, ["apply", "-k", join(DEPLOY, "users")]);
  const ns = await makeNamespace();
  for (const [role, writes] of [["hookbox-view", false], ["view", false], ["edit", true]] as const) {
    const user = await somebody(ns, role, role);
    // A controller adds the rules of the roles that are aggregated.
    await until(() => user.can("list", "sandboxclaims"), Boolean);
    expect(await user.attempt("get", "sandboxes,sandboxclaims,sandboxwarmpools,sandboxtemplates"), role)
      .toMatchObject({ code: 0 });
    for (const right of [["create", "sandboxclaims"], ["delete", "sandboxes"], ["connect", "sandboxes"]]) {
      if (writes) await until(() => user.can(...right), Boolean);
      else expect(await user.can(...right), `${role}: ${right}`).toBe(false);
    }
  }
});

test("hookbox-view in a project shows it without its keys; a role for one Secret shows these, and no other Secret", async () => {
  await run(suite, ["apply", "-k", join(DEPLOY, "users")]);
  const ns = await makeNamespace();
  const entry = { sha256: keyHash("e2b_value"), rights: ["read"], createdAt: "2026-01-01T00:00:00Z" };
  const metadata = { name: KEYS_SECRET, annotations: { note: entry.sha256 } };
  await ns.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData: { ci: JSON.stringify(entry) } });
  const ada = await somebody(ns, "ada", "hookbox-view");
  const path = pathOf({ resource: "secrets", namespace: ns.name, name: KEYS_SECRET });
  expect(await ada.attempt("get", "namespace", ns.name)).toMatchObject({ code: 0 });
  expect((await ada.attempt("get", "namespaces")).stderr).toContain("forbidden");
  expect((await ada.attempt("get", "--raw", path)).stderr).toContain("forbidden");
  await ns.kubectl("create", "role", "keys", "--verb=get", "--resource=secrets", `--resource-name=${KEYS_SECRET}`);
  await ns.kubectl("create", "rolebinding", "keys", "--role=keys", `--serviceaccount=${ns.name}:ada`);
  const { stdout } = await until(() => ada.attempt("get", "--raw", path), ({ code }) => code === 0);
  // What the dashboard's router makes of an API server's own answer.
  const shown = await shownKeys({ status: 200, chunks: chunksOf(stdout) });
  let text = "";
  for await (const chunk of "chunks" in shown ? shown.chunks : []) text += new TextDecoder().decode(chunk);
  expect(JSON.parse(text)).toEqual({ keys: [{ name: "ci", rights: ["read"], createdAt: entry.createdAt }] });
  for (const other of ["secrets", "secret/other"]) {
    expect((await ada.attempt("get", other)).stderr, other).toContain("forbidden");
  }
});
