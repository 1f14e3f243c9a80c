import { describe, expect, test } from "vitest";
import { activityOf, nextBaseline } from "../../../packages/router/idle/activity.ts";
import { decideIdle, policyOf, type SandboxUse } from "../../../packages/router/idle/decision.ts";
import { lastUse, type SandboxTraffic } from "../../../packages/router/idle/lastuse.ts";
import { readSandbox, type SandboxRecord } from "../../../packages/router/index/records.ts";
import { aSandbox } from "../../sandboxes.ts";

const FLOORS = { networkFloor: 50_000, jobsFloor: Infinity };
const POLICY = { idleSeconds: 60, maxActiveSeconds: 600, cpuFloor: 0.05, deleteSeconds: undefined, ...FLOORS };
const quiet: SandboxUse = { open: 0, quietSeconds: 60, unaskedSeconds: 60, activity: undefined, isHeld: false };
const inside = (over: object) => ({ ...quiet, activity: { hasCPU: false, ...over } });

describe("decideIdle()", () => {
  test.for<[string, SandboxUse]>([
    ["nobody has come, and no runtime says anything", quiet],
    ["the runtime says nothing that it would understand", inside({})],
    ["nothing runs", inside({ running: 0, terminals: 0, streams: 0, idleSeconds: 60, hasCPU: true, cores: 0.05 })],
    ["nothing wants the CPU", inside({ hasCPU: true, cores: 0, wanting: 0 })],
    ["only health checks use the network, and jobs sleep", inside({ bytesPerSecond: 2000, jobs: 3 })],
  ])("suspends where %s", ([, evidence]) => {
    expect(decideIdle(POLICY, evidence)).toMatchObject({ suspend: true, reason: "Idle" });
  });

  test.for<[string, SandboxUse]>([
    ["it is held", { ...quiet, isHeld: true }],
    ["a stream is open", { ...quiet, open: 1 }],
    ["somebody came", { ...quiet, quietSeconds: 59.9 }],
    ["a command runs", inside({ running: 1 })],
    ["a terminal is open", inside({ terminals: 1 })],
    ["the runtime has a stream", inside({ streams: 1 })],
    ["the runtime was used", inside({ idleSeconds: 59 })],
    ["it computes", inside({ hasCPU: true, cores: 0.9 })],
    ["it may compute", inside({ hasCPU: true })],
    ["it would compute, were its node not too full", inside({ hasCPU: true, cores: 0.01, wanting: 1 })],
    ["it downloads", inside({ hasCPU: true, cores: 0.01, bytesPerSecond: 100_000 })],
    ["its runtime gives no answer, as one that gets no CPU", { ...quiet, activity: "silent" }],
  ])("leaves it where %s", ([, evidence]) => expect(decideIdle(POLICY, evidence)).toMatchObject({ suspend: false }));

  test("lets nothing work for nobody for ever, where that is asked for", () => {
    const busy = { ...inside({ running: 1, hasCPU: true, cores: 1 }), quietSeconds: 600, unaskedSeconds: 600 };
    expect(decideIdle(POLICY, busy)).toMatchObject({ suspend: true, reason: "MaxActive" });
    expect(decideIdle({ ...POLICY, maxActiveSeconds: Infinity }, busy)).toMatchObject({ suspend: false });
    expect(decideIdle(POLICY, { ...busy, isHeld: true })).toMatchObject({ suspend: false });
    expect(decideIdle(POLICY, { ...busy, open: 1 })).toMatchObject({ suspend: false });
    for (const quietSeconds of [5, -Infinity]) {
      const flipped = { ...busy, quietSeconds };
      expect(decideIdle(POLICY, flipped), "however lately it became Ready").toMatchObject({ reason: "MaxActive" });
      expect(decideIdle(POLICY, { ...flipped, unaskedSeconds: 599 })).toMatchObject({ suspend: false });
    }
  });
});

test("activityOf() tells use of the CPU from two samples, unless the counter began anew", () => {
  const at = (ms: number, cpuSeconds?: number) => ({ at: ms, reported: { cpuSeconds, running: 0 } });
  expect(activityOf(undefined, at(0, 5))).toMatchObject({ hasCPU: true, cores: undefined });
  expect(activityOf(at(0, 5), at(10_000, 10))).toMatchObject({ hasCPU: true, cores: 0.5 });
  expect(activityOf(at(0, 5), at(10_000, 4)).cores).toBeUndefined();
  expect(activityOf(at(0, 5), at(10, 5)).cores).toBeUndefined();
  expect(activityOf(at(0), at(10_000))).toMatchObject({ hasCPU: false, cores: undefined });
});

test("activityOf() tells who wants the CPU, if somebody did before", () => {
  const at = (ms: number, runnable?: number) => ({ at: ms, reported: { cpuSeconds: 1, runnable } });
  expect(activityOf(undefined, at(0, 2))).toMatchObject({ wanting: 0 });
  expect(activityOf(at(0, 1), at(1000, 3))).toMatchObject({ wanting: 1 });
  expect(activityOf(at(0, 1), at(1000))).toMatchObject({ wanting: 0 });
});

test("an idle-cpu of two cores lets one process compute, and wait, for nobody", () => {
  const lenient = { ...POLICY, cpuFloor: 2 };
  const spinning = inside({ hasCPU: true, cores: 0.9, wanting: 1 });
  expect(decideIdle(lenient, spinning)).toMatchObject({ suspend: true });
});

test("a template says how much network traffic, and how many jobs, an idle sandbox may have", () => {
  const waiting = inside({ jobs: 1, bytesPerSecond: 100_000 });
  expect(decideIdle({ ...POLICY, networkFloor: 1e9 }, waiting)).toMatchObject({ suspend: true });
  expect(decideIdle({ ...POLICY, networkFloor: 1e9, jobsFloor: 1 }, waiting)).toMatchObject({ suspend: true });
  expect(decideIdle({ ...POLICY, networkFloor: 1e9, jobsFloor: 0 }, waiting))
    .toEqual({ suspend: false, because: "1 background jobs" });
});

test("activityOf() tells the network traffic from two samples", () => {
  const at = (ms: number, networkBytes?: number) => ({ at: ms, reported: { networkBytes } });
  expect(activityOf(at(0, 1000), at(10_000, 501_000)).bytesPerSecond).toBe(50_000);
  expect(activityOf(undefined, at(0, 5)).bytesPerSecond).toBeUndefined();
  expect(activityOf(at(0, 5), at(10_000, 4)).bytesPerSecond, "the Pod is a new one").toBeUndefined();
});

test("nextBaseline() keeps a sample until another is far enough from it to tell something", () => {
  const at = (ms: number, cpuSeconds: number) => ({ at: ms, reported: { cpuSeconds } });
  const first = at(0, 5);
  expect(nextBaseline(undefined, first)).toBe(first);
  expect(nextBaseline(first, at(500, 5))).toBe(first);
  const [second, restarted] = [at(1000, 6), at(500, 1)];
  expect(nextBaseline(first, second)).toBe(second);
  expect(nextBaseline(first, restarted), "the counter has begun anew").toBe(restarted);
});

const key = (name: string) => `router.agents.x-k8s.io/${name}`;
const record = (annotations: object, template: object = {}) =>
  readSandbox(aSandbox({
    metadata: { annotations },
    spec: { podTemplate: { metadata: { annotations: template }, spec: { containers: [] } } },
    status: {
      conditions: [
        { type: "Ready", status: "True", reason: "x", message: "", lastTransitionTime: "2026-11-21T12:00:00Z" },
      ],
    },
  }))!;

test("policyOf() reads the Sandbox, then its template, and is off unless asked for", () => {
  expect(policyOf(record({}))).toBeUndefined();
  expect(policyOf(record({ [key("idle-seconds")]: "soon" }))).toBeUndefined();
  expect(policyOf(record({ [key("idle-seconds")]: "0" }))).toBeUndefined();
  expect(policyOf(record({}, { [key("idle-seconds")]: "60" }))).toEqual({ ...POLICY, maxActiveSeconds: Infinity });
  const all = {
    [key("max-active-seconds")]: "5",
    [key("idle-cpu")]: "0.5",
    [key("idle-delete-seconds")]: "9",
    [key("idle-network")]: "9000",
    [key("idle-jobs")]: "0",
  };
  expect(policyOf(record({ [key("idle-seconds")]: "30", ...all }, { [key("idle-seconds")]: "60" })))
    .toEqual({
      idleSeconds: 30,
      maxActiveSeconds: 5,
      cpuFloor: 0.5,
      deleteSeconds: 9,
      networkFloor: 9000,
      jobsFloor: 0,
    });
});

describe("lastUse()", () => {
  const ready = Date.parse("2026-11-21T12:00:00Z");
  const word = (text: string) => record({ [key("active-at")]: text });
  const use = (lastAt: number) => ({ open: 0, lastAt });
  const now = ready + 3_600_000;
  const used = (sandbox: SandboxRecord, use: SandboxTraffic | undefined, useChangedAt?: number) =>
    lastUse({ sandbox, useChangedAt }, POLICY, use, { me: "me", now });

  test("takes the latest evidence", () => {
    expect(used(record({}), undefined)).toBe(ready);
    expect(used(record({}), use(ready + 5))).toBe(ready + 5);
    expect(used(record({ [key("woken-at")]: "2026-11-21T12:01:00Z" }), undefined)).toBe(
      ready + 60_000,
    );
  });

  test("allows another router what it may keep to itself, and itself after a restart", () => {
    const at = ready + 100_000;
    const text = `${new Date(at).toISOString()} `;
    expect(used(word(`${text}other`), use(ready))).toBe(at + 20_000);
    expect(used(word(`${text}me`), use(at + 1))).toBe(at + 1);
    expect(used(word(`${text}me`), undefined)).toBe(at + 20_000);
    expect(used(word("nonsense"), undefined)).toBe(ready);
  });

  test("counts from when a claim was given it, however long a pool has kept it Ready", () => {
    const claimed = record({ "agents.x-k8s.io/assigned-at": "2026-11-21T12:10:00.250Z" });
    expect(used(claimed, undefined)).toBe(ready + 600_250);
    expect(used(record({ "agents.x-k8s.io/assigned-at": "x" }), undefined)).toBe(ready);
  });

  test("believes no other clock: news counts from when they were seen, and nothing lies in the future", () => {
    const seen = ready + 500_000;
    const behind = word("2020-01-01T00:00:00Z other");
    expect(used(behind, undefined, seen)).toBe(seen + 20_000);
    expect(used(record({ [key("woken-at")]: "2020-01-01T00:00:00Z" }), undefined, seen)).toBe(seen);
    expect(used(record({}), use(seen + 1), seen)).toBe(seen + 1);
    const ahead = word("2030-01-01T00:00:00Z other");
    expect(used(ahead, undefined)).toBe(now + 20_000);
    expect(used(ahead, undefined, seen)).toBe(seen + 20_000);
  });

  test("is no guess", () => {
    const bare = readSandbox(aSandbox())!;
    expect(used(bare, undefined)).toBe(Infinity);
  });

  test("takes the end of being Ready for no use", () => {
    const [condition] = record({}).conditions;
    const starting = { ...record({}), conditions: [{ ...condition!, status: "False" as const }] };
    expect(used(starting, undefined)).toBe(Infinity);
  });
});
