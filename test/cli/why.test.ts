/** A finding as people read it, and how what they type becomes a subject. @module */
import { expect, test } from "vitest";
import { renderFinding, runWhy } from "../../packages/cli/commands/why.ts";
import type { Finding } from "../../packages/api/diagnosis/finding.ts";
import type { Api } from "../../packages/kube/api.ts";
import { aClaim, aPool } from "../pools.ts";
import { aTemplate } from "../templates.ts";

const quota = { kind: "ResourceQuota", namespace: "team-a", name: "small" };
const claim = { kind: "SandboxClaim", namespace: "team-a", name: "job" };
const finding: Finding = {
  code: "QuotaExceeded",
  isOk: false,
  object: quota,
  summary: 'ResourceQuota "small" leaves no room.',
  evidence: [{
    object: { ...claim, kind: "Sandbox" },
    where: "status.conditions[Ready]",
    text: "False\n  ReconcilerError: no",
  }],
  since: "2026-11-21T12:00:00Z",
  remedy: "Raise spec.hard.",
  hopeless: true,
  chain: [claim, { ...claim, kind: "SandboxWarmPool", name: "warm" }, { ...claim, kind: "Sandbox" }, quota],
};

test("the cause comes first, then object, since, evidence, remedy, and the way", () => {
  expect(renderFinding(finding, { color: false })).toBe(`QuotaExceeded: ResourceQuota "small" leaves no room.

Object:   resourcequota/small in namespace team-a
Since:    2026-11-21T12:00:00Z
Evidence:
  sandbox/job status.conditions[Ready]
    False; ReconcilerError: no
Do:       Raise spec.hard.
Waiting:  does not help
Chain:    claim/job → pool/warm → sandbox/job → resourcequota/small
`);
});

test("what is well has nothing to do", () => {
  const { since: _, ...rest } = finding;
  const well: Finding = { ...rest, code: "Ready", isOk: true, object: claim, evidence: [], chain: [claim] };
  const text = renderFinding(well, { color: false });
  expect(text).not.toMatch(/Do:|Waiting:|Chain:|Evidence:|Since:/);
});

test("colours are only where they are asked for, and change no word", () => {
  const coloured = renderFinding(finding, { color: true });
  // deno-lint-ignore no-control-regex -- that is what colours are made of
  expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(renderFinding(finding, { color: false }));
  expect(coloured).toContain("\u001b[31mQuotaExceeded\u001b[39m");
});

/** Has nothing, and notes what it is asked for. */
function empty() {
  const asked: string[] = [];
  const api: Api = {
    send: ({ path }) => {
      asked.push(path.split("/").slice(-2).join("/"));
      return Promise.resolve({ status: 404, body: { details: { name: path.split("/").at(-1) } } });
    },
    watch: () => Promise.reject(new Error("Cannot watch: nobody is to")),
  };
  return { api, asked };
}

test.for(
  [
    ["job", "SandboxClaim", ["sandboxclaims/job", "sandboxes/job", "sandboxwarmpools/job"]],
    ["claim/job", "SandboxClaim", ["sandboxclaims/job"]],
    ["sbx/job", "Sandbox", ["sandboxes/job"]],
    ["Pools/job", "SandboxWarmPool", ["sandboxwarmpools/job"]],
  ] as const,
)("%s is looked for as %s", async ([name, kind, requests]) => {
  const { api, asked } = empty();
  const { code, object } = await runWhy(api, name, "team-a");
  expect([code, object.kind, object.name]).toEqual(["NotFound", kind, "job"]);
  expect(asked).toEqual(requests);
});

test("of a claim that waits the binder's Lease is read: nobody who holds it is to blame", async () => {
  const objects: Record<string, object> = {
    "sandboxclaims/job": aClaim("job", { metadata: { creationTimestamp: "2026-01-01T00:00:00Z" } }),
    "sandboxwarmpools/warm": aPool(),
    "sandboxtemplates/python": aTemplate(),
    "leases/hookbox-binder": { metadata: { namespace: "hookbox-system", name: "hookbox-binder" }, spec: {} },
  };
  const { api } = empty();
  const send: Api["send"] = (request) => {
    const body = objects[request.path.split("/").slice(-2).join("/")];
    return body ? Promise.resolve({ status: 200, body }) : api.send(request);
  };
  const text = renderFinding(await runWhy({ ...api, send }, "claim/job", "team-a"), { color: false });
  expect(text).toMatch(/^BinderDown: The binder is not running: nobody holds Lease "hookbox-binder", /);
  expect(text).toContain("\nObject:   lease/hookbox-binder in namespace hookbox-system\n");
  expect(text).toContain("\nChain:    claim/job → lease/hookbox-binder\n");
});

test("a bare name that nothing has is said to name none of the three", async () => {
  const { summary, remedy } = await runWhy(empty().api, "job", "team-a");
  expect(summary).toBe('There is no claim, Sandbox or pool "job" in namespace "team-a".');
  expect(remedy).toContain("kubectl get sandboxclaims,sandboxes,sandboxwarmpools -A");
});

test.for(["pool/", "", "/", "/job", "pool/a/b"])("%j names nothing, and nothing is asked for", async (name) => {
  const { api, asked } = empty();
  await expect(runWhy(api, name, "team-a")).rejects.toThrow(/^Cannot explain /);
  expect(asked).toEqual([]);
});

test("a kind that is none of ours is said to be none", async () => {
  await expect(runWhy(empty().api, "pod/x", "team-a")).rejects.toThrow(
    'Cannot explain "pod/x": kinds are claim, sandbox, pool and template',
  );
});
