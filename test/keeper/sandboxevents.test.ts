/** Events in the life of a Sandbox: their reasons and messages, each reported once. @module */
import { beforeEach, describe, expect, test } from "vitest";
import { idleExpiryText } from "../../packages/api/expiry.ts";
import { eventOf, type Occurrence } from "../../packages/kube/event.ts";
import { createSandboxEvents, sandboxOccurrences } from "../../packages/keeper/observability/sandboxevents.ts";
import { aSandbox, NOW } from "../sandboxes.ts";
import { aCondition } from "./extensions.ts";

const T = "2026-11-21T11:59:00Z";
const running = aCondition("Suspended", "False", "NotSuspended");
const scheduled = aCondition("PodScheduled", "True", "PodScheduled");
const starting = aCondition("Ready", "False", "DependenciesNotReady");
const ready = (since = T) => aCondition("Ready", "True", "DependenciesReady", { lastTransitionTime: since });
const with_ = (conditions: object[], spec: object = {}) => aSandbox({ status: { conditions }, spec });
const ORIGINAL = {
  metadata: { uid: "of-another", generation: 1 },
  spec: { shutdownTime: "2026-11-21T11:00:00Z", shutdownPolicy: "Retain" },
};
const quota = 'Error seen: pods "demo" is forbidden: exceeded quota: q';

describe("sandboxOccurrences()", () => {
  test.for<[name: string, sandbox: ReturnType<typeof aSandbox>, want: object[]]>([
    ["one without a status", aSandbox(), []],
    ["one whose Pod is coming", with_([running, starting]), []],
    ["one that has a Pod", with_([running, starting, scheduled]), [
      { type: "Normal", reason: "SandboxPodCreated", note: 'Created Pod "demo"' },
    ]],
    [
      "one whose Pod is refused",
      with_([running, aCondition("Ready", "False", "ReconcilerError", { message: quota })]),
      [
        { type: "Warning", reason: "SandboxPodCreateFailed", note: quota },
      ],
    ],
    [
      "one that lacks something else than its Pod",
      with_([running, aCondition("Ready", "False", "ReconcilerError", { message: 'Error seen: PVC "a" is taken' })]),
      [],
    ],
    ["a Ready one", with_([running, ready(), scheduled]), [
      { reason: "SandboxPodCreated" },
      { type: "Normal", reason: "SandboxReady", note: "Sandbox is ready" },
    ]],
    [
      "a suspended one",
      with_([
        aCondition("Suspended", "True", "PodTerminated", { message: "Pod has been terminated. Sandbox is suspended" }),
        aCondition("Ready", "False", "SandboxSuspended"),
      ]),
      [{ type: "Normal", reason: "SandboxSuspended", note: "Pod has been terminated. Sandbox is suspended" }],
    ],
    [
      "an expired one that stays",
      with_([running, aCondition("Ready", "False", "SandboxExpired", { message: "Sandbox has expired" })], {
        shutdownTime: "2026-11-21T11:59:30Z",
        shutdownPolicy: "Retain",
      }),
      [{ reason: "SandboxExpired", note: "Sandbox has expired", at: Date.parse("2026-11-21T11:59:30Z") }],
    ],
    [
      "an expired one that is deleted",
      with_([running, aCondition("Ready", "False", "SandboxExpired")], { shutdownTime: T, shutdownPolicy: "Delete" }),
      [],
    ],
    [
      "an expired copy of one that a router let expire: its own end says that it stays",
      aSandbox({
        metadata: { annotations: { "router.agents.x-k8s.io/idle-expired": idleExpiryText(ORIGINAL, T) } },
        status: { conditions: [running, aCondition("Ready", "False", "SandboxExpired")] },
        spec: { shutdownTime: T, shutdownPolicy: "Delete" },
      }),
      [{ reason: "SandboxExpired" }],
    ],
    [
      "one whose Pod has ended well",
      with_([running, scheduled, aCondition("Finished", "True", "PodSucceeded", { message: "Pod completed" })]),
      [{ reason: "SandboxPodCreated" }, { type: "Normal", reason: "PodSucceeded", note: "Pod completed" }],
    ],
    ["one whose Pod has failed", with_([running, scheduled, aCondition("Finished", "True", "PodFailed")]), [
      { reason: "SandboxPodCreated" },
      { type: "Warning", reason: "PodFailed" },
    ]],
  ])("%s", ([, sandbox, want]) => {
    const found = sandboxOccurrences(sandbox);
    expect(found).toMatchObject(want);
    expect(found.length).toBe(want.length);
    for (const { reportingController, at } of found) {
      expect([reportingController, at]).toEqual(["sandbox-controller", expect.any(Number)]);
    }
  });

  test("an Event is the same whatever else the status says by then, and another after a resume", () => {
    const nameOf = (sandbox: ReturnType<typeof aSandbox>) =>
      eventOf(sandboxOccurrences(sandbox)[0]!, "here", NOW).metadata.name;
    const first = nameOf(with_([running, starting, scheduled]));
    expect(nameOf(with_([running, ready("2026-11-21T11:59:59Z"), scheduled]))).toBe(first);
    const resumed = { ...running, lastTransitionTime: "2026-11-21T11:59:50Z" };
    expect(nameOf(with_([resumed, starting, scheduled]))).not.toBe(first);
  });
});

describe("createSandboxEvents()", () => {
  let recorded: string[];
  let now: number;
  const record = ({ reason, key }: Occurrence) => void recorded.push(`${reason} ${key}`);
  const anHandler = (isListed = true) => {
    const handler = createSandboxEvents(record, () => now);
    if (isListed) handler.listed?.(new Set());
    return handler;
  };
  beforeEach(() => {
    recorded = [];
    now = NOW.getTime();
  });

  test("each is recorded once, however often the Sandbox is seen", () => {
    const handler = anHandler();
    for (let seen = 0; seen < 3; seen++) handler.observe(with_([running, starting, scheduled]));
    for (let seen = 0; seen < 3; seen++) handler.observe(with_([running, ready(), scheduled]));
    expect(recorded).toEqual([`SandboxPodCreated ${T}`, `SandboxReady ${T}`]);
  });

  test("a start among 3,000 that are old records nothing; what is young it may have to say again", () => {
    const old = { lastTransitionTime: "2026-11-21T11:00:00Z" };
    const handler = anHandler(false);
    for (let i = 0; i < 3000; i++) {
      const conditions = [{ ...running, ...old }, { ...scheduled, ...old }, ready(old.lastTransitionTime)];
      handler.observe(aSandbox({ metadata: { uid: `u-${i}` }, status: { conditions } }));
    }
    expect(recorded).toEqual([]);
    handler.observe(with_([running, ready(), scheduled]));
    expect(recorded).toEqual([`SandboxPodCreated ${T}`, `SandboxReady ${T}`]);
  });

  test("one that turns Ready every few seconds is recorded once a minute", () => {
    const handler = anHandler();
    for (let second = 0; second < 180; second += 5) {
      now = NOW.getTime() + second * 1000;
      handler.observe(with_([running, starting, scheduled]));
      handler.observe(with_([running, ready(new Date(now).toISOString()), scheduled]));
    }
    expect(recorded.filter((each) => each.startsWith("SandboxReady"))).toHaveLength(3);
  });

  test("one that is suspended and resumed is recorded each time, however soon", () => {
    const handler = anHandler();
    const since = (second: number) => ({ lastTransitionTime: `2026-11-21T11:59:0${second}Z` });
    handler.observe(with_([{ ...running, ...since(0) }, ready("2026-11-21T11:59:01Z"), scheduled]));
    handler.observe(with_([aCondition("Suspended", "True", "PodTerminated", since(2))]));
    handler.observe(with_([{ ...running, ...since(3) }, ready("2026-11-21T11:59:04Z"), scheduled]));
    const reasons = recorded.map((each) => each.split(" ")[0]);
    const life = ["SandboxPodCreated", "SandboxReady"];
    expect(reasons).toEqual([...life, "SandboxSuspended", ...life]);
  });

  test("one that is suspended and resumed within a second has Events of its own for each", () => {
    const handler = anHandler();
    const suspended = with_([aCondition("Suspended", "True", "PodTerminated", { lastTransitionTime: T })]);
    for (let time = 1; time <= 2; time++) {
      handler.observe(with_([running, starting]));
      handler.observe(with_([running, ready(), scheduled]));
      handler.observe(suspended);
    }
    const life = ["SandboxPodCreated", "SandboxReady", "SandboxSuspended"];
    expect(recorded).toEqual([...life.map((reason) => `${reason} ${T}`), ...life.map((reason) => `${reason} ${T} 2`)]);
  });

  test("one that was deleted and made again is another one", () => {
    const handler = anHandler();
    handler.observe(with_([running, ready(), scheduled]));
    handler.gone("uid-demo");
    handler.observe(aSandbox({ metadata: { uid: "second" }, status: { conditions: [running, ready(), scheduled] } }));
    expect(recorded).toHaveLength(4);
  });
});
