/** Whole answers of the SandboxWarmPool hook, and the laws that hold for each of them. @module */
import { expect, test } from "vitest";
import { sandboxWarmPoolSchema } from "../../../packages/api/sandboxwarmpool.ts";
import { syncSandboxWarmPool } from "../../../hooks/sandboxwarmpool/sync.ts";
import type { WarmPoolConfig } from "../../../hooks/flags.ts";
import { compositeRequestSchema } from "../../../packages/webhook/metacontroller.ts";
import { goldenCases, type GoldenForm, goldenTests, reversed } from "../../golden.ts";
import { deepFreeze } from "../../freeze.ts";
import { CONFIG } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, aMember, aPool, aReturned } from "../../pools.ts";
import { NOW } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";
import { brokenLaws } from "./laws.ts";

/** `member: 1`, `returned: 1`, `cold: <claim>` and `template: {}` stand for what the builders make. */
const FORM: GoldenForm = {
  parent: aPool,
  object: ({ member, returned, cold, template, ...over }) => {
    if (member !== undefined) return aMember(member, over);
    if (returned !== undefined) return aReturned(returned, over);
    if (cold !== undefined) return aColdSandbox(aClaim(cold), over);
    return aTemplate(template);
  },
  children: ["Sandbox.agents.x-k8s.io/v1beta1"],
  related: ["SandboxTemplate.extensions.agents.x-k8s.io/v1beta1"],
};
const cases = goldenCases(new URL("golden/", import.meta.url), FORM);
const parse = (request: unknown) => compositeRequestSchema(sandboxWarmPoolSchema).parse(request);
const answer = (request: unknown, more: Record<string, unknown> = {}) => {
  const config = { ...CONFIG, ...more["config"] as Partial<WarmPoolConfig> };
  return syncSandboxWarmPool(parse(request), NOW, config);
};

goldenTests(cases, (request, { more }) => answer(request, more));

test.for(cases)("laws, same request, same bytes, untouched, in whatever order: $name", ({ request, more }) => {
  const frozen = deepFreeze(parse(structuredClone(request)));
  expect(() => syncSandboxWarmPool(frozen, NOW, CONFIG)).not.toThrow();
  const first = answer(request, more);
  expect(JSON.stringify(answer(structuredClone(request), more))).toBe(JSON.stringify(first));
  expect(answer(reversed(request), more)).toEqual(first);
  expect(brokenLaws(parse(request), first)).toEqual([]);
});
