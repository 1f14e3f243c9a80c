/** What a pool says of itself: counts, and the truest cause of what it lacks, word for word. @module */
import { expect, test } from "vitest";
import type { SandboxWarmPool } from "../../../packages/api/sandboxwarmpool.ts";
import { type Call, syncPool, type World } from "../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool, aReturned, type Seen, STATUS } from "../../pools.ts";

const one = aPool({ spec: { replicas: 1 } });
const HELD = "holding them instead of replacing (replacements would be equally unschedulable)";
const NONE_CREATED =
  "0 of 3 sandboxes are Ready. None of those asked for last has been created: a ResourceQuota or an " +
  "admission policy of the namespace may refuse Sandboxes; one is tried at least every 30 s";

interface Case extends World {
  name: string;
  want: [string, string, string];
  call?: Call;
}
const single = (state: Seen["state"], age = 1, pool: SandboxWarmPool = one): World => ({
  pool,
  sandboxes: [aMember(1, { age, ...(state ? { state } : {}) })],
});
const lacks = (detail: string) => `0 of 1 sandboxes are Ready, 1 failing: ${detail}`;

const cases: Case[] = [
  { name: "a full pool", ...single("ready"), want: ["True", "Full", "1 of 1 sandboxes are Ready"] },
  {
    name: "more than enough",
    sandboxes: [aMember(1), aMember(2)],
    pool: one,
    want: ["True", "Full", "2 of 1 sandboxes are Ready"],
  },
  {
    name: "a pool of none",
    pool: aPool({ spec: { replicas: 0 } }),
    want: ["True", "Full", "0 of 0 sandboxes are Ready"],
  },
  {
    name: "a full pool without a template",
    ...single("ready"),
    template: null,
    want: ["True", "Full", "1 of 1 sandboxes are Ready"],
  },
  {
    name: "no template",
    ...single("invalid"),
    template: null,
    want: ["False", "TemplateNotFound", 'SandboxTemplate "python" not found'],
  },
  { name: "an empty pool", want: ["True", "Filling", "0 of 3 sandboxes are Ready"] },
  {
    name: "an empty pool that has got none of the members that it asked for",
    pool: aPool({
      spec: { replicas: 3 },
      status: { observedGeneration: 1, sequence: 3, batches: [{ first: 1, at: ago(10) }] },
    }),
    want: ["False", "ChildrenRefused", NONE_CREATED],
  },
  {
    name: "one of which some have",
    pool: aPool({
      spec: { replicas: 3 },
      status: { observedGeneration: 1, sequence: 3, batches: [{ first: 1, at: ago(10), arrived: 1 }] },
    }),
    want: ["True", "Filling", "0 of 3 sandboxes are Ready"],
  },
  { name: "one that is coming", ...single("coming"), want: ["True", "Filling", "0 of 1 sandboxes are Ready"] },
  { name: "one without a status", ...single("none"), want: ["True", "Filling", "0 of 1 sandboxes are Ready"] },
  { name: "one that is suspended", ...single("suspended"), want: ["True", "Filling", "0 of 1 sandboxes are Ready"] },
  { name: "a bad spec", ...single("invalid"), want: ["False", "InvalidConfiguration", lacks("Error seen: bad name")] },
  {
    name: "a quota",
    ...single("overQuota"),
    want: ["False", "QuotaExceeded", lacks('Error seen: exceeded quota: "small"')],
  },
  {
    name: "a refusal",
    ...single("refused"),
    want: ["False", "ChildrenRefused", lacks("Error seen: denied by the quota webhook")],
  },
  {
    name: "an image that cannot be had",
    ...single("imagePull"),
    want: ["False", "ImagePullFailed", lacks("no such image")],
  },
  { name: "containers that fail", ...single("crashing"), want: ["False", "ContainersFailing", lacks("exit code 1")] },
  { name: "a finished Pod", ...single("finished"), want: ["False", "PodsFinished", lacks("Pod has failed")] },
  {
    name: "no node, for now",
    ...single("unschedulable"),
    want: ["True", "Unschedulable", lacks("0/3 nodes are available")],
  },
  { name: "a gate, for now", ...single("gated"), want: ["True", "SchedulingGated", lacks("Scheduling is blocked")] },
  {
    name: "no node for too long",
    ...single("unschedulable", 300),
    want: ["False", "Unschedulable", `1/1 sandboxes are unschedulable past the 5m0s readiness grace period; ${HELD}`],
  },
  {
    name: "a gate for too long",
    ...single("gated", 300),
    want: ["False", "SchedulingGated", `1/1 sandboxes are unschedulable past the 5m0s readiness grace period; ${HELD}`],
  },
  {
    name: "a scheduler's other trouble",
    ...single("unscheduled"),
    want: ["True", "Filling", "0 of 1 sandboxes are Ready"],
  },
  { name: "not Ready in time", ...single("coming", 300), want: ["False", "NotReadyInTime", lacks("Pod is not Ready")] },
  { name: "no status in time", ...single("none", 300), want: ["False", "NotReadyInTime", lacks("it has no status")] },
  {
    name: "no reason from the scheduler",
    pool: one,
    sandboxes: [
      aMember(1, {
        status: {
          conditions: [{
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "",
            lastTransitionTime: ago(1),
          }],
        },
      }),
    ],
    want: ["True", "Unschedulable", lacks("no node takes it")],
  },
  {
    name: "some Ready, two of one cause: the first's words",
    sandboxes: [aMember(1), aMember(2, { age: 9, state: "imagePull" }), aMember(3, { age: 8, state: "imagePull" })],
    want: ["False", "ImagePullFailed", "1 of 3 sandboxes are Ready, 2 failing: no such image"],
  },
  {
    name: "a Ready member whose containers fail now and then",
    pool: aPool({ spec: { replicas: 2 } }),
    sandboxes: [
      aMember(1, {
        status: {
          conditions: [...STATUS.ready.conditions, ...STATUS.crashing.conditions.slice(1)],
          podIPs: STATUS.ready.podIPs,
        },
      }),
    ],
    want: ["True", "Filling", "1 of 2 sandboxes are Ready"],
  },
  {
    name: "overdue and not: only those are counted",
    sandboxes: [aMember(1, { age: 301, state: "unschedulable" }), aMember(2, { state: "unschedulable" }), aMember(3)],
    want: ["False", "Unschedulable", `1/3 sandboxes are unschedulable past the 5m0s readiness grace period; ${HELD}`],
  },
];
test.for(cases)("Progressing of a pool with $name", ({ want, call, ...world }) => {
  const { conditions = [] } = syncPool(world, call).status;
  const progressing = conditions.find(({ type }) => type === "Progressing");
  expect([progressing?.status, progressing?.reason, progressing?.message]).toEqual(want);
});

const ORDER = [
  "invalid",
  "overQuota",
  "refused",
  "imagePull",
  "crashing",
  "gated",
  "unschedulable",
  "finished",
] as const;
const REASONS = [
  "InvalidConfiguration",
  "QuotaExceeded",
  "ChildrenRefused",
  "ImagePullFailed",
  "ContainersFailing",
  "SchedulingGated",
  "Unschedulable",
  "PodsFinished",
];
test("of several causes the one that explains most is reported, whichever member has it", () => {
  for (const [index, state] of ORDER.entries()) {
    const rest = ORDER.slice(index).toReversed();
    const sandboxes = [
      ...rest.map((each, place) => aMember(place + 2, { state: each })),
      aMember(1, { state: "coming", age: 301 }),
    ];
    const { conditions = [] } = syncPool({ pool: aPool({ spec: { replicas: 20 } }), sandboxes }).status;
    expect(conditions.find(({ type }) => type === "Progressing")?.reason, state).toBe(REASONS[index]);
  }
});

test.for([[0.5, "0.5s"], [30, "30s"], [60, "1m0s"], [90, "1m30s"], [3600, "1h0m0s"], [5430, "1h30m30s"]] as const)(
  "a grace period of %d seconds is reported as %s",
  ([readinessGraceSeconds, text]) => {
    const { conditions = [] } = syncPool(single("unschedulable", 9999), { config: { readinessGraceSeconds } }).status;
    expect(conditions.map(({ message }) => message).join()).toContain(`past the ${text} readiness grace period`);
  },
);

test("a grace period of the pool's own is the one that is reported, and the one that is waited for", () => {
  const pool = aPool({ spec: { readinessGracePeriodSeconds: 90 } });
  const { conditions = [] } = syncPool({ ...single("unschedulable", 9999), pool }).status;
  expect(conditions.map(({ message }) => message).join()).toContain("past the 1m30s readiness grace period");
  expect(syncPool({ ...single("coming", 80), pool }).resyncAfterSeconds).toBe(10);
});

test("the status counts members, not what goes, has come back or was made for a claim; 0 is absent", () => {
  const sandboxes = [
    aMember(1),
    aMember(2, { state: "coming" }),
    aMember(3, { metadata: { deletionTimestamp: ago(1) } }),
    aMember(4, { metadata: { labels: { "agents.x-k8s.io/draining": "stuck" } } }),
    aReturned(5),
    aColdSandbox(aClaim("c")),
  ];
  const { conditions: _, ...counts } = syncPool({ sandboxes }).status;
  const selector = "agents.x-k8s.io/warm-pool-sandbox=81fa6638";
  expect(counts).toEqual({
    replicas: 2,
    readyReplicas: 1,
    selector,
    sequence: 4,
    arrivedSequence: 4,
    observedSequence: 0,
  });
  const { conditions: __, ...empty } = syncPool({ pool: aPool({ spec: { replicas: 0 } }) }).status;
  expect(empty).toEqual({ selector });
});

test.for([[3, "True", "Full"], [2, "False", "NotFull"]] as const)(
  "Ready with %d of 3: %s",
  ([count, status, reason]) => {
    const sandboxes = Array.from({ length: count }, (_, index) => aMember(index + 1));
    const message = `${count} of 3 sandboxes are Ready`;
    const { conditions = [] } = syncPool({ sandboxes }).status;
    expect(conditions.map(({ type }) => type)).toEqual(["Progressing", "Ready"]);
    expect(conditions[1]).toMatchObject({ status, reason, message, observedGeneration: 1 });
  },
);

test("a condition keeps its time until its status flips", () => {
  const before = (status: string) => ({
    conditions: ["Ready", "Progressing"].map((type) => ({
      type,
      status,
      reason: "x",
      message: "",
      lastTransitionTime: "2026-11-21T10:00:00Z",
    })),
  });
  const times = (status: string) => {
    const { conditions = [] } = syncPool({ pool: aPool({ status: before(status) }) }).status;
    return Object.fromEntries(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  };
  expect(times("True")).toEqual({ Progressing: "2026-11-21T10:00:00Z", Ready: "2026-11-21T12:00:00Z" });
  expect(times("False")).toEqual({ Progressing: "2026-11-21T12:00:00Z", Ready: "2026-11-21T10:00:00Z" });
});
