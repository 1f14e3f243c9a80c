/** What keeps a claim from being served, and when it is said: at once known or not known at all. @module */
import { describe, expect, test } from "vitest";
import { type ClaimProblem, problemText } from "../../packages/api/claimproblem.ts";
import { writeRefused } from "../../packages/api/claims/refusedwrite.ts";
import { claimProblem, claimSituation, isUnbound } from "../../packages/keeper/claimsituation.ts";
import { aTemplate } from "../templates.ts";
import { NOT_SERVED } from "../../packages/api/claims/unserved.ts";
import { aClaim, aCondition } from "./extensions.ts";

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
      want: "its hook's",
    },
  ])("$name", ({ spec = {}, pool, template, want }) => {
    expect(claimProblem(aClaim({ spec }), { pool, template }, { domains: DOMAINS })).toEqual(want);
  });

  test("goes by the domains that the installation allows", () => {
    const claim = aClaim({ spec: { additionalPodMetadata: { labels: { "a.example/x": "y" } }, env } });
    const of = (domains: string[]) => claimProblem(claim, { pool, template: aTemplate() }, { domains });
    expect([of([]), of(["a.example"])]).toMatchObject(["its hook's", { reason: "EnvVarsInjectionRejected" }]);
  });
});

test("isUnbound() is what shows no Sandbox, and is not going away", () => {
  const named = aClaim({ status: { sandbox: { name: "s" } } });
  const going = aClaim({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
  expect([aClaim(), aClaim({ status: { sandbox: {} } }), named, going].map(isUnbound)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe("claimSituation()", () => {
  const bound = { sandbox: { name: "s" } };
  const other: ClaimProblem = { reason: "TemplateNotFound", message: "other" };

  test.for([
    { name: "waiting", metadata: {}, problem: undefined, want: "look" },
    { name: "waiting, and told", metadata: annotated(1, NOT_SERVED), problem: undefined, want: undefined },
    {
      name: "told that it waits, but trouble is known",
      metadata: annotated(1, NOT_SERVED),
      problem: other,
      want: "leftover",
    },
    { name: "in trouble", metadata: {}, problem: NOT_FOUND, want: "look" },
    { name: "not known yet", metadata: annotated(1, NOT_FOUND), problem: "unknown" as const, want: undefined },
    { name: "said already", metadata: annotated(1, NOT_FOUND), problem: NOT_FOUND, want: undefined },
    { name: "said of another generation", metadata: annotated(2, NOT_FOUND), problem: NOT_FOUND, want: "leftover" },
    { name: "said otherwise", metadata: annotated(1, other), problem: NOT_FOUND, want: "leftover" },
    { name: "said by a user", metadata: { annotations: { [UNRESOLVED]: "x" } }, problem: NOT_FOUND, want: "leftover" },
    { name: "over", metadata: annotated(1, NOT_FOUND), problem: undefined, want: "leftover" },
    { name: "bound", status: bound, problem: NOT_FOUND, want: undefined },
    { name: "bound, a write refused", status: bound, problem: undefined, refusal: "no", want: "look" },
    {
      name: "bound, a write reported as refused",
      metadata: annotated(1, writeRefused("update", "s", "no")),
      status: bound,
      problem: undefined,
      want: "look",
    },
    {
      name: "bound, a write reported as refused for an earlier spec",
      metadata: annotated(2, writeRefused("update", "s", "no")),
      status: bound,
      problem: undefined,
      want: "leftover",
    },
    {
      name: "bound all the same",
      metadata: annotated(1, NOT_FOUND),
      status: bound,
      problem: NOT_FOUND,
      want: "leftover",
    },
    {
      name: "bound after all",
      metadata: annotated(1, NOT_SERVED),
      status: bound,
      problem: undefined,
      want: "leftover",
    },
    {
      name: "being deleted",
      metadata: { ...annotated(1, NOT_FOUND), deletionTimestamp: "2026-11-21T12:00:00Z" },
      problem: undefined,
      want: undefined,
    },
  ])("$name", ({ metadata = {}, status, problem, refusal, want }) => {
    const claim = aClaim({ metadata, ...(status ? { status } : {}) });
    expect(claimSituation(claim, () => problem, refusal)?.kind).toBe(want);
  });

  const CREATED = "2026-11-21T11:59:50Z";
  const at = (time: string, seconds: number) => Date.parse(time) + seconds * 1000;
  const wordOf = (status?: object, problem?: ClaimProblem) =>
    claimSituation(aClaim({ metadata: { creationTimestamp: CREATED }, ...(status ? { status } : {}) }), () => problem);

  test("that nobody serves a claim is said when it is ten seconds old, not before", () => {
    expect(wordOf()).toMatchObject({ problem: NOT_SERVED, notBefore: at(CREATED, 10) });
    expect(NOT_SERVED).toMatchObject({ reason: "SandboxMissing", message: expect.stringContaining("binder") });
  });

  test("what is known to be in the way does not wait for that", () => {
    expect(wordOf(undefined, NOT_FOUND)).not.toHaveProperty("notBefore");
  });

  test("a claim that has lost its Sandbox has ten seconds from then", () => {
    const lost = aCondition("Ready", "False", "SandboxMissing", { lastTransitionTime: "2026-11-21T12:30:00Z" });
    expect(wordOf({ conditions: [lost] })).toMatchObject({ notBefore: at("2026-11-21T12:30:00Z", 10) });
  });

  test.for(["InvalidMetadata", "ClaimExpired"])(
    "a claim that says %s itself is not told that nobody serves it",
    (reason) => {
      expect(wordOf({ conditions: [aCondition("Ready", "False", reason)] })).toBeUndefined();
    },
  );

  test("a claim of no age is told at once rather than never", () => {
    expect(claimSituation(aClaim(), () => undefined)).toMatchObject({ notBefore: 10_000 });
  });

  test("the word is of the claim's generation, in JSON", () => {
    expect(JSON.parse(problemText(aClaim({ metadata: { generation: 4 } }), NOT_SERVED))).toEqual({
      generation: 4,
      ...NOT_SERVED,
    });
  });
});

test("of a claim whose metadata is bad nobody says that it waits for the binder: its hook says what it is", () => {
  const old = { creationTimestamp: "2026-11-21T12:00:00Z" };
  expect(claimSituation(aClaim({ metadata: old }), () => undefined)?.problem).toEqual(NOT_SERVED);
  expect(claimSituation(aClaim({ metadata: old }), () => "its hook's")).toBeUndefined();
  const word = { "agents.x-k8s.io/unresolved": "{}" };
  expect(claimSituation(aClaim({ metadata: { ...old, annotations: word } }), () => "its hook's")?.kind).toBe(
    "leftover",
  );
});
