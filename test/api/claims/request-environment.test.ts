/** @module */
import { expect, test } from "vitest";
import { environmentProblem, withEnvironment } from "../../../packages/api/claims/request.ts";

const POD = {
  containers: [
    { name: "first", env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
    { name: "side" },
    { name: "mapped", envFrom: [{ configMapRef: { name: "m" } }] },
    { name: "unmapped", envFrom: [] },
  ],
  initContainers: [{ name: "setup", env: [{ name: "S", value: "0" }] }],
};
const DISALLOWED = "environment variable injection is not allowed by the template policy";
const override = (name: string) =>
  `Error seen: environment variable override is not allowed by the template policy for variable "${name}"`;
const twice = 'Error seen: spec.env of the claim lists variable "B" of container "first" twice';
const lacking = 'Error seen: target container "none" not found in template for environment variable "B"';
const unseen = 'container "mapped" uses envFrom, so it is unknown whether "B" would override a variable';
const b = (containerName?: string) => ({ name: "B", value: "1", ...(containerName ? { containerName } : {}) });

const cases = [
  ["Disallowed", "no variable", [], undefined],
  ["Disallowed", "any variable", [b()], ["EnvVarsInjectionRejected", DISALLOWED]],
  ["Disallowed", "one of a container that is not there", [b("none")], ["EnvVarsInjectionRejected", DISALLOWED]],
  ["Allowed", "a new one", [b()], undefined],
  ["Allowed", "a new one of a named container", [b("side")], undefined],
  ["Allowed", "a new one of an init container", [b("setup")], undefined],
  ["Allowed", "one that the first container has", [{ name: "A", value: "1" }], ["ReconcilerError", override("A")]],
  ["Allowed", "one that another container has", [{ name: "S", value: "1" }], undefined],
  ["Allowed", "one that the init container has", [{ name: "S", value: "1", containerName: "setup" }], [
    "ReconcilerError",
    override("S"),
  ]],
  ["Allowed", "one of a container that is not there", [b("none")], ["ReconcilerError", lacking]],
  ["Allowed", "one of a container with envFrom", [b("mapped")], ["EnvVarsInjectionRejected", unseen]],
  ["Allowed", "one of a container with an empty envFrom", [b("unmapped")], undefined],
  ["Allowed", "two, the second wrong", [b(), b("none")], ["ReconcilerError", lacking]],
  ["Allowed", "two wrong ones: the first counts", [b("mapped"), b("none")], ["EnvVarsInjectionRejected", unseen]],
  ["Allowed", "two of one name", [b(), b()], ["ReconcilerError", twice]],
  ["Allowed", "two of one name, which the container has", Array(2).fill({ name: "A", value: "1" }), [
    "ReconcilerError",
    override("A"),
  ]],
  ["Allowed", "two of one name, in two containers", [b(), b("side")], undefined],
  ["Allowed", "an empty container's name: the first container's", [{ ...b(), containerName: "" }], undefined],
  ["Overrides", "one with a NUL byte", [{ name: "A", value: "a\0b" }], [
    "EnvVarsInjectionRejected",
    'the value of environment variable "A" has a NUL byte',
  ]],
  ["Overrides", "two of one name", [b(), b()], undefined],
  ["Overrides", "one that is there", [{ name: "A", value: "1" }], undefined],
  ["Overrides", "one of a container with envFrom", [b("mapped")], undefined],
  ["Overrides", "one of a container that is not there", [b("none")], ["ReconcilerError", lacking]],
] as const;
test.for(cases)("environmentProblem() under %s of %s", ([policy, , env, want]) => {
  const problem = environmentProblem(env, policy, POD);
  expect(problem && [problem.reason, problem.message]).toEqual(want);
});

test("withEnvironment() sets in the first regular container what names none, and elsewhere what is named", () => {
  const env = [{ name: "A", value: "1" }, b(), { name: "S", value: "2", containerName: "setup" }, b("side"), b("none")];
  expect(withEnvironment(POD, [{ ...b(), containerName: "" }])).toEqual(withEnvironment(POD, [b()]));
  const { containers, initContainers } = withEnvironment(POD, env);
  expect(containers.map((container) => container.env)).toEqual([
    [{ name: "A", value: "1" }, { name: "B", value: "1" }],
    [{ name: "B", value: "1" }],
    undefined,
    undefined,
  ]);
  expect(initContainers?.map((container) => container.env)).toEqual([[{ name: "S", value: "2" }]]);
});

test("withEnvironment() keeps the order, replaces an entry whole, and lets the last of two alike win", () => {
  const pod = { containers: [{ name: "main", env: [{ name: "A", valueFrom: {} }, { name: "Z", value: "0" }] }] };
  const env = [{ name: "A", value: "1" }, { name: "A", value: "2" }];
  expect(withEnvironment(pod, env).containers[0]?.env).toEqual([{ name: "A", value: "2" }, { name: "Z", value: "0" }]);
});

test("withEnvironment() of nothing is the Pod itself; without init containers there are none", () => {
  expect(withEnvironment(POD, [])).toBe(POD);
  expect(withEnvironment({ containers: [{ name: "main" }] }, [b()])).not.toHaveProperty("initContainers");
});

test("a template is read once, however many claims are held to it, and none sees what another one adds", () => {
  let looks = 0;
  const container = { name: "main", image: "x" };
  Object.defineProperty(container, "env", { get: () => (looks++, [{ name: "A", value: "" }]) });
  const podSpec = { containers: [container] };
  const verdicts = ["B", "B", "A"].map((name) => environmentProblem([{ name, value: "" }], "Allowed", podSpec)?.reason);
  expect(verdicts).toEqual([undefined, undefined, "ReconcilerError"]);
  expect(looks).toBe(1);
});
