/** One verdict on what a claim asks for. @module */
import { expect, test } from "vitest";
import { poolNotFound, templateNotFound } from "../../../packages/api/claims/problem.ts";
import { needsColdStart, requestProblem } from "../../../packages/api/claims/request.ts";
import { aClaim } from "../../pools.ts";
import { aTemplate } from "../../templates.ts";

const VOLUME = { metadata: { name: "v" }, spec: {} };
const BAD_METADATA = { additionalPodMetadata: { labels: { bad: "1" } } };
const CONFLICT = { additionalPodMetadata: { annotations: { note: "mine" } } };
const ENV = { env: [{ name: "A", value: "1" }] };
const VOLUMES = { volumeClaimTemplates: [VOLUME] };
const template = aTemplate({
  spec: { podTemplate: { metadata: { annotations: { note: "t" } }, spec: { containers: [{ name: "main" }] } } },
});

const cases = [
  ["nothing", {}, undefined],
  ["empty lists", { env: [], volumeClaimTemplates: [] }, undefined],
  ["everything at once: bad metadata comes first", { ...BAD_METADATA, ...ENV, ...VOLUMES }, "InvalidMetadata"],
  ["metadata against the template's, before variables", { ...CONFLICT, ...ENV, ...VOLUMES }, "ReconcilerError"],
  ["variables before volumes", { ...ENV, ...VOLUMES }, "EnvVarsInjectionRejected"],
  ["volumes", VOLUMES, "VolumeClaimTemplatesError"],
] as const;
test.for(cases)("requestProblem() of %s", ([, spec, want]) => {
  expect(requestProblem(aClaim("c", { spec }), template, ["sandbox.users.io"])?.reason).toBe(want);
});

test("requestProblem() goes by the template's policies, containers, volumes and metadata", () => {
  const open = aTemplate({
    spec: { envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed", volumeClaimTemplates: [VOLUME] },
  });
  expect(requestProblem(aClaim("c", { spec: { ...ENV, ...CONFLICT } }), open, [])).toBeUndefined();
  expect(requestProblem(aClaim("c", { spec: VOLUMES }), open, [])?.message).toContain(
    'override of volumeClaimTemplate "v"',
  );
});

test.for([
  ["nothing", {}, false],
  ["metadata", BAD_METADATA, false],
  ["empty lists", { env: [], volumeClaimTemplates: [] }, false],
  ["variables", ENV, true],
  ["volumes", VOLUMES, true],
])("needsColdStart() of %s: %s", ([, spec, want]) => {
  expect(needsColdStart(aClaim("c", { spec: spec as object }), undefined)).toBe(want);
});

test.for<[string, object]>([
  ["a volume", { secret: { secretName: "hookbox-runtime-key" } }],
  ["a projected volume", { projected: { sources: [{ secret: { name: "hookbox-runtime-key" } }] } }],
])("no claim sets variables in a container that has the key of the runtimes by %s", ([, volume]) => {
  const initContainers = [{ name: "token", volumeMounts: [{ name: "key", mountPath: "/key" }] }, { name: "setup" }];
  const podTemplate = {
    spec: { initContainers, containers: [{ name: "main" }], volumes: [{ name: "key", ...volume }] },
  };
  const problem = (envVarsInjectionPolicy: string, containerName: string) => {
    const env = [{ name: "NODE_OPTIONS", value: "--import=data:text/javascript,", containerName }];
    const made = aTemplate({ spec: { envVarsInjectionPolicy, podTemplate } });
    return requestProblem(aClaim("c", { spec: { env } }), made, [])?.reason;
  };
  for (const policy of ["Allowed", "Overrides"]) {
    const problems = ["token", "setup", "main"].map((name) => problem(policy, name));
    expect(problems).toEqual(["EnvVarsInjectionRejected", undefined, undefined]);
  }
});

test("missing references, in the contract's words", () => {
  expect(poolNotFound("p")).toEqual({ reason: "WarmPoolNotFound", message: 'SandboxWarmPool "p" not found' });
  expect(templateNotFound("t")).toEqual({ reason: "TemplateNotFound", message: 'SandboxTemplate "t" not found' });
});
