/** readSandbox(): of what a team writes, a router keeps little, however much there is. @module */
import { expect, test } from "vitest";
import { readSandbox } from "../../../packages/router/index/records.ts";

const KEY = "router.agents.x-k8s.io/";
const read = (metadata: object, status: object = {}, template: object = {}) =>
  readSandbox({
    metadata: { name: "a", namespace: "n", uid: "u", resourceVersion: "1", ...metadata },
    spec: { podTemplate: { metadata: template } },
    status,
  })!;

test("annotations that a router reads are kept: the Sandbox's own, else those of its Pod template", () => {
  const template = { annotations: { [`${KEY}idle-seconds`]: "60", [`${KEY}wake`]: "false" } };
  const own = { annotations: { [`${KEY}idle-seconds`]: "5", other: "x", [`${KEY}of-nobody`]: "x" } };
  expect(read(own, {}, template).annotations).toEqual({ [`${KEY}idle-seconds`]: "5", [`${KEY}wake`]: "false" });
});

test("of thousands of annotations at most eleven are kept", () => {
  const asked = [
    "idle-cpu",
    "idle-jobs",
    "idle-network",
    "idle-delete-seconds",
    "idle-seconds",
    "max-active-seconds",
    "wake",
  ];
  const said = ["active-at", "first-active-at", "suspended", "woken-at"];
  const others = Array.from({ length: 5000 }, (_, i) => `other-${i}`);
  const annotations = Object.fromEntries([...others, ...asked, ...said].map((name) => [`${KEY}${name}`, "x"]));
  expect(Object.keys(read({ annotations }).annotations)).toEqual([...asked, ...said].map((name) => `${KEY}${name}`));
});

const PROPOSED = "agents.x-k8s.io/idle-timeout-seconds";

test.for<[name: string, own: Record<string, string>, template: Record<string, string>, want: string | undefined]>([
  ["the contract's proposed name counts", { [PROPOSED]: "60" }, {}, "60"],
  ["on the Pod template, too", {}, { [PROPOSED]: "60" }, "60"],
  ["its own before the Pod template's", { [PROPOSED]: "60" }, { [PROPOSED]: "90" }, "60"],
  ["ours before it", { [PROPOSED]: "60", [`${KEY}idle-seconds`]: "5" }, {}, "5"],
  ["ours before it, wherever it stands", { [PROPOSED]: "60" }, { [`${KEY}idle-seconds`]: "5" }, "5"],
  ["neither is none", {}, {}, undefined],
])("how long idle: %s", ([, own, template, want]) => {
  const { annotations } = read({ annotations: own }, {}, { annotations: template });
  expect(annotations[`${KEY}idle-seconds`]).toBe(want);
  expect(annotations).not.toHaveProperty([PROPOSED]);
});

test.for(["active-at", "first-active-at", "woken-at", "suspended", "wake", "idle-seconds", "of-nobody"])(
  "a megabyte of %s is not kept, wherever it stands",
  (name) => {
    const annotations = { [`${KEY}${name}`]: "€".repeat(400_000), "agents.x-k8s.io/assigned-at": "€".repeat(400_000) };
    expect(JSON.stringify(read({ annotations }, {}, { annotations })).length).toBeLessThan(1000);
  },
);

test("of conditions one of each type is kept, with the beginning of its message", () => {
  const condition = { type: "Ready", status: "False", reason: "r", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const conditions = Array.from({ length: 1000 }, (_, i) => ({ ...condition, message: `${i}${"x".repeat(30_000)}` }));
  const record = read({}, { conditions });
  expect(record.conditions).toEqual([{ ...condition, message: `0${"x".repeat(1023)}` }]);
});

test("an expiry that a router has set ends with the suspension: a Sandbox that runs again has the end that it had before", () => {
  const [set, before] = ["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"];
  const endOf = (operatingMode: string, earlier: object) => {
    const note = { uid: "u", generation: 2, shutdownTime: set, before: earlier };
    const annotations = { "router.agents.x-k8s.io/idle-expired": JSON.stringify(note) };
    return readSandbox({
      metadata: { name: "a", namespace: "n", uid: "u", generation: operatingMode === "Running" ? 3 : 2, annotations },
      spec: { operatingMode, shutdownTime: set, shutdownPolicy: "Delete" },
    })?.expiresAt;
  };
  expect(endOf("Suspended", {})).toBe(Date.parse(set));
  expect(endOf("Running", {})).toBeUndefined();
  expect(endOf("Running", { shutdownTime: before })).toBe(Date.parse(before));
});
