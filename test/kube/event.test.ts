import { expect, test } from "vitest";
import { eventOf, isYoung, type Occurrence } from "../../packages/kube/event.ts";
import { isDNSSubdomain } from "../../packages/api/objects/names.ts";
import { NOW } from "../sandboxes.ts";

const REGARDING = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  namespace: "team-a",
  name: "job",
  uid: "uid-job",
};
const OCCURRENCE: Occurrence = {
  regarding: REGARDING,
  type: "Normal",
  reason: "SandboxAdopted",
  action: "Adoption",
  note: 'Adopted warm pool Sandbox "pool-1"',
  reportingController: "sandboxclaim-controller",
  key: "uid-pool-1",
  at: NOW.getTime() - 5000,
};
const nameOf = (over: Partial<Occurrence>, instance = "host-1", now = NOW) =>
  eventOf({ ...OCCURRENCE, ...over }, instance, now).metadata.name;

test("eventOf() says what the contract says, in the object's namespace", () => {
  expect(eventOf(OCCURRENCE, "host-1", NOW)).toEqual({
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: "team-a", name: expect.stringMatching(/^job\.[0-9a-f]{16}$/) },
    eventTime: "2026-11-21T12:00:00.000000Z",
    reportingController: "sandboxclaim-controller",
    reportingInstance: "host-1",
    action: "Adoption",
    reason: "SandboxAdopted",
    type: "Normal",
    note: 'Adopted warm pool Sandbox "pool-1"',
    regarding: REGARDING,
  });
});

test("eventOf() gives an occurrence one name, no matter which process records it and when", () => {
  expect(nameOf({ at: 0, note: "other words" }, "host-2", new Date(0))).toBe(nameOf({}));
});

test.for<[string, Partial<Occurrence>]>([
  ["another object of the same name", { regarding: { ...REGARDING, uid: "uid-other" } }],
  ["another reason", { reason: "SandboxProvisioned" }],
  ["another occurrence", { key: "uid-pool-2" }],
])("eventOf() gives %s another name", ([, over]) => {
  expect(nameOf(over)).not.toBe(nameOf({}));
});

test.for(["a", "a".repeat(63), "a".repeat(253), `${"a".repeat(235)}.${"b".repeat(17)}`, `${"a".repeat(234)}-.b`])(
  "eventOf() makes a name that the API server takes out of %s",
  (name) => {
    expect(nameOf({ regarding: { ...REGARDING, name } })).toSatisfy(isDNSSubdomain);
  },
);

test("eventOf() cuts a note to 1,024 bytes, between characters", () => {
  const note = eventOf({ ...OCCURRENCE, note: `${"a".repeat(1023)}ü and more` }, "h", NOW).note;
  expect(note).toBe("a".repeat(1023));
  expect(eventOf({ ...OCCURRENCE, note: `${"a".repeat(1022)}ü` }, "h", NOW).note).toBe(`${"a".repeat(1022)}ü`);
});

test("eventOf() cuts an instance to 128 characters", () => {
  expect(eventOf(OCCURRENCE, "h".repeat(200), NOW).reportingInstance).toHaveLength(128);
});

test.for<[number, boolean]>([[0, true], [29, true], [30, false], [90, false], [-5, true]])(
  "isYoung(): %d minutes old is %s",
  ([minutes, want]) => {
    expect(isYoung({ ...OCCURRENCE, at: NOW.getTime() - minutes * 60_000 }, NOW.getTime())).toBe(want);
  },
);
