/** Whole answers of the Sandbox hook, and the laws that hold for each of them. @module */
import { expect, test } from "vitest";
import { sandboxSchema } from "../../../packages/api/sandbox.ts";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { compositeRequestSchema } from "../../../packages/webhook/metacontroller.ts";
import { deepFreeze } from "../../freeze.ts";
import { goldenCases, goldenTests, reversed } from "../../golden.ts";
import { NOW } from "../../sandboxes.ts";

const cases = goldenCases(new URL("golden/", import.meta.url));
const parse = (request: unknown) => compositeRequestSchema(sandboxSchema).parse(request);
const answer = (request: unknown) => syncSandbox(parse(request), NOW, { clusterDomain: "cluster.local" });

goldenTests(cases, answer);

test.for(cases)("laws, same request, same bytes, untouched, in whatever order: $name", ({ request }) => {
  const frozen = deepFreeze(parse(structuredClone(request)));
  const first = syncSandbox(frozen, NOW, { clusterDomain: "cluster.local" });
  expect(JSON.stringify(answer(request))).toBe(JSON.stringify(first));
  expect(answer(reversed(request))).toEqual(first);
});

test.for(cases)("law, every observed volume is desired in both modes: $name", ({ request }) => {
  for (const operatingMode of ["Running", "Suspended"]) {
    const changed = structuredClone(request);
    changed.parent["spec"] = { ...changed.parent["spec"] as object, operatingMode };
    const wanted = answer(changed).children.filter(({ kind }) => kind === "PersistentVolumeClaim");
    const observed = Object.keys(changed.children["PersistentVolumeClaim.v1"] ?? {});
    expect(wanted.map(({ metadata }) => `team-a/${metadata.name}`)).toEqual(expect.arrayContaining(observed));
  }
});
