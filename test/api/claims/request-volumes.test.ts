/** @module */
import { expect, test } from "vitest";
import { joinedVolumes, volumesProblem } from "../../../packages/api/claims/request.ts";

const volume = (name: string | undefined, size = 1) => ({
  ...(name === undefined ? {} : { metadata: { name } }),
  spec: { resources: { requests: { storage: `${size}Gi` } } },
});
const NOT_ALLOWED = "volumeClaimTemplates are not allowed by the template policy";

const cases = [
  ["Disallowed", "none", [], [volume("t")], undefined],
  ["Disallowed", "any", [volume("a")], [], NOT_ALLOWED],
  ["Allowed", "a new one", [volume("a")], [volume("t")], undefined],
  ["Allowed", "one without a name", [volume(undefined)], [], "a volumeClaimTemplate of the claim has no name"],
  ["Overrides", "one of an empty name", [volume("")], [], "a volumeClaimTemplate of the claim has no name"],
  [
    "Overrides",
    "two of one name",
    [volume("a"), volume("b"), volume("a")],
    [],
    'two volumeClaimTemplates of the claim are named "a"',
  ],
  [
    "Allowed",
    "one, where the template has two of a name",
    [volume("a")],
    [volume("t"), volume("t")],
    'two volumeClaimTemplates of the template are named "t"',
  ],
  [
    "Overrides",
    "one, where the template has one without",
    [volume("a")],
    [volume(undefined)],
    "a volumeClaimTemplate of the template has no name",
  ],
  [
    "Allowed",
    "one that the template has",
    [volume("a"), volume("t")],
    [volume("t")],
    'override of volumeClaimTemplate "t" is not allowed by the template policy',
  ],
  ["Overrides", "one that the template has", [volume("t")], [volume("t")], undefined],
] as const;
test.for(cases)("volumesProblem() under %s of %s", ([policy, , own, template, want]) => {
  const problem = volumesProblem(own, policy, template);
  expect(problem).toEqual(want === undefined ? undefined : { reason: "VolumeClaimTemplatesError", message: want });
});

test("joinedVolumes() replaces in place and appends the rest in its own order", () => {
  const joined = joinedVolumes([volume("a"), volume("t"), volume("z")], [
    volume("y", 2),
    volume("t", 2),
    volume("b", 2),
  ]);
  expect(joined).toEqual([volume("a"), volume("t", 2), volume("z"), volume("y", 2), volume("b", 2)]);
});
