/** The projects of E2B's clients on the dashboard, in a real browser, on an API server in memory. @module */
import { expect, test } from "vitest";
import { keyHash } from "../../packages/api/e2b/identity.ts";
import { eventually } from "../eventually.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import { condition, expectTexts, hashOf, openInMemory, pathOf, putSandbox, refuse, rowOf } from "./inmemory.ts";

const GROUP = "extensions.agents.x-k8s.io/v1beta1";
const HASH = keyHash("e2b_value");
/** In minutes. */
const DAY = 1440;
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/** Makes a project with quota, keys and pool. @param claims `running`, `paused` or `starting` */
function putProject(api: FakeApi, name: string, claims: string[]): void {
  const meta = (own: string) => ({ name: own, namespace: name, creationTimestamp: ago(600) });
  const labels = { "e2b.agents.x-k8s.io/project": "true" };
  api.put(`/api/v1/namespaces/${name}`, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels, creationTimestamp: ago(600) },
  });
  const hard = {
    "count/sandboxclaims.extensions.agents.x-k8s.io": "20",
    "limits.cpu": "8",
    "limits.memory": "16Gi",
  };
  const used = {
    "count/sandboxclaims.extensions.agents.x-k8s.io": String(claims.length),
    "limits.cpu": "2",
    "limits.memory": "3Gi",
  };
  api.put(`/api/v1/namespaces/${name}/resourcequotas/hookbox-project`, {
    metadata: meta("hookbox-project"),
    status: { hard, used },
  });
  const entry = (more: object) =>
    btoa(JSON.stringify({ sha256: HASH, rights: ["read"], createdAt: ago(3 * DAY), ...more }));
  const data = {
    ci: entry({ rights: ["create", "connect"], lastUsedAt: ago(2 * DAY) }),
    watcher: entry({}),
    damaged: btoa(`{"sha256":"${HASH}"}`),
  };
  api.put(`/api/v1/namespaces/${name}/secrets/hookbox-e2b-keys`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...meta("hookbox-e2b-keys"), annotations: { all: JSON.stringify(data) } },
    data,
  });
  api.put(`/apis/${GROUP}/namespaces/${name}/sandboxwarmpools/base`, {
    apiVersion: GROUP,
    kind: "SandboxWarmPool",
    metadata: { ...meta("base"), annotations: { "e2b.agents.x-k8s.io/aliases": "base, code-interpreter-v1" } },
    spec: { replicas: 2, sandboxTemplateRef: { name: "base" } },
    status: { replicas: 2, readyReplicas: 2, conditions: [condition("Ready", "")] },
  });
  claims.forEach((state, index) => putClaim(api, name, `${state}-${index}`, state));
}

function putClaim(api: FakeApi, namespace: string, name: string, state: string): void {
  const conditions = { running: [condition("Ready", "")], paused: [condition("Ready", "SandboxSuspended")] }[state] ??
    [];
  api.put(pathOf("sandboxclaims", name, namespace), {
    apiVersion: GROUP,
    kind: "SandboxClaim",
    metadata: { name, namespace, creationTimestamp: ago(5), labels: { "e2b.agents.x-k8s.io/sandbox": "true" } },
    spec: { warmPoolRef: { name: "base" } },
    status: { conditions, sandbox: { name, podIPs: [] } },
  });
}

test("lists projects, and shows the quota, API keys and pools of one, but nothing else of its Secret", async () => {
  const { page, api, wrong, picture } = await openInMemory((api) => {
    putProject(api, "demo", ["running", "running", "paused", "starting"]);
    putProject(api, "empty", []);
  }, "#/sandboxes");
  await page.getByRole("link", { name: "Projects" }).click();
  await rowOf(page, "demo 2 running, 1 paused, 1 not ready 4 of 20 2 of 8 3Gi of 16Gi 2").waitFor();
  await rowOf(page, "empty 0 0 of 20 2 of 8 3Gi of 16Gi 2").waitFor();
  putClaim(api, "empty", "first", "running");
  await rowOf(page, "empty 1 running").waitFor();
  await picture("projects");
  await page.getByRole("link", { name: "demo" }).click();
  const panel = page.getByRole("complementary", { name: "demo" });
  expect(hashOf(page)).toBe("#/projects?open=demo");
  const keys = panel.getByRole("region", { name: "API keys" });
  await expectTexts(keys.getByRole("row"), [
    "Name Rights Created Last used",
    "ci create, connect 3d ago 2d ago",
    "damaged not readable",
    "watcher read 3d ago never",
  ]);
  await expectTexts(panel.getByRole("region", { name: "Quota" }).getByRole("row"), [
    "Resource Used Allowed",
    "sandboxes 4 20",
    "limits.cpu 2 8",
    "limits.memory 3Gi 16Gi",
  ]);
  await keys.getByText("hookbox project key create demo NAME").waitFor();
  await keys.getByText("hookbox project key revoke demo NAME").waitFor();
  await picture("project");
  expect(await page.content()).not.toContain(HASH);
  await panel.getByRole("link", { name: "2 running, 1 paused, 1 not ready" }).click();
  await page.getByText("4 of 4").waitFor();
  await page.goBack();
  await panel.getByRole("link", { name: "base", exact: true }).click();
  await page.getByRole("heading", { name: "base" }).waitFor();
  expect(hashOf(page)).toBe("#/pools?open=demo/base");
  await page.goBack();
  await panel.waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  expect(wrong).toEqual([]);
});

test("somebody with rights in one namespace sees its project, and reads why something is missing", async () => {
  const { page, picture } = await openInMemory((api) => {
    putProject(api, "demo", ["running"]);
    refuse(api, "/api/v1/namespaces");
    refuse(api, "/secrets/hookbox-e2b-keys");
    refuse(api, "/resourcequotas");
  }, "#/claims?namespace=demo");
  await page.getByRole("link", { name: "Projects" }).click();
  await rowOf(page, "demo 1 running").waitFor();
  await page.getByText("Not all quotas and API keys can be read, so some cells are empty.").waitFor();
  await page.getByRole("link", { name: "demo" }).click();
  await page.getByText("Your user may not read Secret hookbox-e2b-keys of namespace demo.").waitFor();
  await page.getByText("Your user may not list the quotas of namespace demo.").waitFor();
  await page.getByRole("complementary").getByRole("link", { name: "base", exact: true }).waitFor();
  await picture("project-refused");
  await page.goto(page.url().replace(/#.*/, "#/projects"));
  await page.getByText("Your user may not list projects in all namespaces.").waitFor();
});

test("without projects, the page offers no list of them, and reads no quota and no Secret", async () => {
  const { page, api } = await openInMemory((api) => {
    api.put("/api/v1/namespaces/team-a", { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } });
    putSandbox(api, "one", {});
  }, "#/sandboxes?namespace=team-a");
  await page.getByText("1 of 1").waitFor();
  const paths = () => api.requests.map(({ path }) => path);
  await eventually(paths).toContain("/api/v1/namespaces");
  expect(await page.getByRole("link", { name: "Projects" }).count()).toBe(0);
  expect(paths().filter((path) => /secrets|resourcequotas/.test(path))).toEqual([]);
  await page.goto(page.url().replace(/#.*/, "#/projects"));
  await page.getByText("There are no projects in any namespace.").waitFor();
  await page.getByText("hookbox project create NAME --image IMAGE").waitFor();
});
