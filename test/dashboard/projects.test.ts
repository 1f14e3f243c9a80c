/** The projects of E2B's clients in the dashboard: counts, quotas, what is read, and what cannot be. @module */
import { expect, test } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import {
  countsByProject,
  countsText,
  missingText,
  projectColumns,
  type ProjectFacts,
  readFactsOf,
} from "../../packages/dashboard/projects.ts";
import { quotaUses } from "../../packages/summary/quotas.ts";
import { createFakeApi, refusal } from "../kube/fakeapi.ts";

const NOW = new Date("2026-01-02T00:00:00Z");
const COUNT = "count/sandboxclaims.extensions.agents.x-k8s.io";

/** A claim of an E2B client. @param reason of its Ready condition; empty: it is Ready; undefined: it has none */
function aClaim(namespace: string, reason: string | undefined, metadata: object = {}): KubeObject {
  const status = reason === "" ? "True" : "False";
  const ready = { type: "Ready", status, reason: reason || "Ready", message: "", lastTransitionTime: "" };
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name: "a", namespace, ...metadata },
    spec: { warmPoolRef: { name: "base" } },
    status: { sandbox: { name: "base-1", podIPs: [] }, ...reason === undefined ? {} : { conditions: [ready] } },
  } as KubeObject;
}

const paused = { annotations: { "e2b.agents.x-k8s.io/paused-at": "2026-01-01T00:00:00.000Z" } };

test.for([
  { name: "that is Ready", claim: aClaim("demo", ""), want: "1 running" },
  { name: "that starts", claim: aClaim("demo", undefined), want: "1 not ready" },
  { name: "that has failed", claim: aClaim("demo", "TemplateNotFound"), want: "1 not ready" },
  { name: "that a router has suspended", claim: aClaim("demo", "SandboxSuspended"), want: "1 paused" },
  { name: "whose client has paused it a moment ago", claim: aClaim("demo", "", paused), want: "1 paused" },
  {
    name: "that is deleted while it is paused",
    claim: aClaim("demo", "SandboxSuspended", { ...paused, deletionTimestamp: "2026-01-01T00:00:00Z" }),
    want: "1 not ready",
  },
  { name: "of another project", claim: aClaim("other", ""), want: "0" },
])("a sandbox $name counts as $want", ({ claim, want }) => {
  expect(countsText(countsByProject([claim]).get("demo"))).toBe(want);
});

test("countsText() leaves out what there is none of", () => {
  expect(countsText({ running: 3, paused: 1, other: 2 })).toBe("3 running, 1 paused, 2 not ready");
  expect(countsText({ running: 0, paused: 0, other: 0 })).toBe("0");
});

test("quotaUses() lists each resource once: of several quotas, the one with the least left", () => {
  const uses = quotaUses([
    { status: { hard: { [COUNT]: "20", "limits.memory": "16Gi" }, used: { [COUNT]: "4", "limits.memory": "512Mi" } } },
    { status: { hard: { [COUNT]: "10", pods: "5" }, used: { [COUNT]: "4" } } },
    { status: { hard: { "limits.memory": "32Gi" }, used: { "limits.memory": "512Mi" } } },
    {},
  ]);
  expect(uses).toEqual([
    { resource: COUNT, used: "4", hard: "10" },
    { resource: "limits.memory", used: "512Mi", hard: "16Gi" },
    { resource: "pods", hard: "5" },
  ]);
});

const project: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "demo", namespace: "demo", creationTimestamp: "2026-01-01T00:00:00Z" },
};

function cellsOf(facts: ProjectFacts | undefined, claims: KubeObject[] | undefined): Record<string, string> {
  const collection = { objects: claims ?? [], isListed: claims !== undefined, trouble: undefined };
  const columns = projectColumns({ facts: new Map(facts ? [["demo", facts]] : []) }, collection);
  return Object.fromEntries(columns.map(({ header, cell }) => [header, cell(project, NOW)]));
}

test("the list shows sandboxes, what is used of the quota, valid keys and the age", () => {
  const quotas = {
    found: [
      { resource: COUNT, used: "4", hard: "20" },
      { resource: "requests.cpu", used: "500m", hard: "4" },
      { resource: "limits.cpu", used: "2", hard: "8" },
      { resource: "memory", hard: "16Gi" },
    ],
  };
  const keys = {
    found: [{ name: "damaged" }, { name: "ci", rights: ["read" as const], createdAt: "2026-01-01T00:00:00Z" }],
  };
  expect(cellsOf({ quotas, keys }, [aClaim("demo", "")])).toEqual({
    NAME: "demo",
    SANDBOXES: "1 running",
    QUOTA: "4 of 20",
    CPU: "2 of 8",
    MEMORY: "? of 16Gi",
    KEYS: "1",
    AGE: "24h",
  });
});

test("cells are empty while nothing is known, and say nothing that may be wrong", () => {
  const nothing = { NAME: "demo", SANDBOXES: "", QUOTA: "", CPU: "", MEMORY: "", KEYS: "", AGE: "24h" };
  expect(cellsOf(undefined, undefined)).toEqual(nothing);
  expect(cellsOf({ quotas: { reason: "…" }, keys: { reason: "…" } }, undefined)).toEqual(nothing);
  expect(cellsOf({ quotas: { found: [] }, keys: { found: [] } }, [])).toEqual({
    ...nothing,
    SANDBOXES: "0",
    KEYS: "0",
  });
});

test("missingText() says what cannot be read", () => {
  const [known, reason] = [{ found: [] }, { reason: "Your user may not." }];
  const textOf = (...facts: ProjectFacts[]) =>
    missingText({ facts: new Map(facts.map((each, index) => [`p${index}`, each])) });
  expect(textOf({ quotas: known, keys: known })).toBeUndefined();
  expect(textOf({ quotas: known, keys: known }, { quotas: known, keys: reason })).toMatch(
    /^Not all API keys can be read/,
  );
  expect(textOf({ quotas: reason, keys: reason })).toMatch(/^Not all quotas and API keys can be read/);
});

const KEYS = "/api/v1/namespaces/demo/secrets/hookbox-e2b-keys";

test("readFactsOf() reads the quotas of the project, and its keys as the router answers them", async () => {
  const api = createFakeApi();
  const keys = [{ name: "ci", rights: ["read"], createdAt: "2026-01-01T00:00:00Z" }];
  api.put("/api/v1/namespaces/demo/resourcequotas/q", {
    metadata: { name: "q" },
    status: { hard: { pods: "5" }, used: { pods: "1" } },
  });
  api.intercept = ({ path }) => path === KEYS ? { status: 200, body: { keys } } : undefined;
  expect(await readFactsOf(api, "demo")).toEqual({
    quotas: { found: [{ resource: "pods", used: "1", hard: "5" }] },
    keys: { found: keys },
  });
  expect(api.requests.map(({ method, path, query }) => [method, path, query])).toEqual([
    ["GET", "/api/v1/namespaces/demo/resourcequotas", undefined],
    ["GET", KEYS, undefined],
  ]);
});

test("readFactsOf() says in a sentence what the user may not read, or what failed", async () => {
  const api = createFakeApi();
  expect((await readFactsOf(api, "demo")).keys, "no Secret: no keys").toEqual({ found: [] });
  api.intercept = () => refusal(403, "forbidden");
  expect(await readFactsOf(api, "demo")).toEqual({
    quotas: { reason: "Your user may not list the quotas of namespace demo." },
    keys: { reason: "Your user may not read Secret hookbox-e2b-keys of namespace demo." },
  });
  api.intercept = ({ path }) => path === KEYS ? refusal(502, "It is too large.") : undefined;
  expect(await readFactsOf(api, "demo")).toMatchObject({
    keys: { reason: "Cannot read Secret hookbox-e2b-keys of namespace demo: It is too large." },
  });
});
