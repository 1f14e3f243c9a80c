import { describe, expect, test } from "vitest";
import type { ClaimProblem } from "../../api/claimproblem.ts";
import { claimProblem, claimWord, isUnbound } from "../../keeper/claimproblem.ts";
import { aTemplate } from "../templates.ts";
import { aClaim } from "./extensions.ts";

const DOMAINS = ["sandbox.users.io"];
const NOT_FOUND: ClaimProblem = { reason: "WarmPoolNotFound", message: 'SandboxWarmPool "pool" not found' };
const UNRESOLVED = "agents.x-k8s.io/unresolved";
const annotated = (generation: number, problem: ClaimProblem) => ({
  annotations: { [UNRESOLVED]: JSON.stringify({ generation, ...problem }) },
});

describe("claimProblem()", () => {
  const pool = { template: "python" };
  const env = [{ name: "A", value: "1" }];

  test.for([
    { name: "all there", pool, template: aTemplate(), want: undefined },
    { name: "no pool", pool: undefined, template: undefined, want: NOT_FOUND },
    {
      name: "no template",
      pool,
      template: undefined,
      want: { reason: "TemplateNotFound", message: 'SandboxTemplate "python" not found' },
    },
    {
      name: "environment that the template refuses",
      spec: { env },
      pool,
      template: aTemplate(),
      want: {
        reason: "EnvVarsInjectionRejected",
        message: "environment variable injection is not allowed by the template policy",
      },
    },
    {
      name: "environment that the template allows",
      spec: { env },
      pool,
      template: aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } }),
      want: undefined,
    },
    {
      name: "bad metadata, which is the claim hook's to say",
      spec: { additionalPodMetadata: { labels: { bare: "x" } }, env },
      pool,
      template: aTemplate(),
      want: undefined,
    },
  ])("$name", ({ spec = {}, pool, template, want }) => {
    expect(claimProblem(aClaim({ spec }), { pool, template }, DOMAINS)).toEqual(want);
  });

  test("goes by the domains that the installation allows", () => {
    const claim = aClaim({ spec: { additionalPodMetadata: { labels: { "a.example/x": "y" } }, env } });
    const of = (domains: string[]) => claimProblem(claim, { pool, template: aTemplate() }, domains)?.reason;
    expect([of([]), of(["a.example"])]).toEqual([undefined, "EnvVarsInjectionRejected"]);
  });
});

test("isUnbound() is what has neither label nor Sandbox, and is not going away", () => {
  const bound = aClaim({ metadata: { labels: { "agents.x-k8s.io/claim-bound": "true" } } });
  const named = aClaim({ status: { sandbox: { name: "s" } } });
  const going = aClaim({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
  expect([aClaim(), aClaim({ status: { sandbox: {} } }), bound, named, going].map(isUnbound)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

describe("claimWord()", () => {
  const bound = { labels: { "agents.x-k8s.io/claim-bound": "true" } };
  const other: ClaimProblem = { reason: "TemplateNotFound", message: "other" };

  test.for([
    { name: "healthy", metadata: {}, problem: undefined, want: undefined },
    { name: "in trouble", metadata: {}, problem: NOT_FOUND, want: "look" },
    { name: "not known yet", metadata: annotated(1, NOT_FOUND), problem: "unknown" as const, want: undefined },
    { name: "said already", metadata: annotated(1, NOT_FOUND), problem: NOT_FOUND, want: undefined },
    { name: "said of another generation", metadata: annotated(2, NOT_FOUND), problem: NOT_FOUND, want: "leftover" },
    { name: "said otherwise", metadata: annotated(1, other), problem: NOT_FOUND, want: "leftover" },
    { name: "said by a user", metadata: { annotations: { [UNRESOLVED]: "x" } }, problem: NOT_FOUND, want: "leftover" },
    { name: "over", metadata: annotated(1, NOT_FOUND), problem: undefined, want: "leftover" },
    { name: "bound", metadata: bound, problem: NOT_FOUND, want: undefined },
    {
      name: "bound all the same",
      metadata: { ...annotated(1, NOT_FOUND), ...bound },
      problem: NOT_FOUND,
      want: "leftover",
    },
    {
      name: "being deleted",
      metadata: { ...annotated(1, NOT_FOUND), deletionTimestamp: "2026-11-21T12:00:00Z" },
      problem: undefined,
      want: undefined,
    },
  ])("$name", ({ metadata, problem, want }) => {
    expect(claimWord(aClaim({ metadata }), () => problem)?.kind).toBe(want);
  });
});
