/** Which claim gets which Sandbox: the table of allocate(), through whole answers. @module */
import { expect, test } from "vitest";
import { aClaim, aColdSandbox, ago, aMember, aPool } from "../../pools.ts";
import { handOvers, newNames, syncPool, type World } from "../../poolcalls.ts";
import { aTemplate } from "../../templates.ts";

const ENV = { env: [{ name: "A", value: "1" }] };
const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const none = aPool({ spec: { replicas: 0 } });
const young = { metadata: { creationTimestamp: ago(1) } };
const recreate = aPool({ spec: { updateStrategy: { type: "Recreate" } } });

interface Case extends World {
  name: string;
  reason: string;
  /** Sandboxes handed over, by name of the claim. */
  want: Record<string, string>;
  /** Sandboxes made that are no members. */
  cold?: string[];
}

const cases: Case[] = [
  {
    name: "the oldest Ready member",
    reason: "members are used in order of age",
    sandboxes: [aMember(1, { age: 10 }), aMember(2, { age: 30 }), aMember(3, { age: 20 })],
    claims: [aClaim("c")],
    want: { "warm-2": "c" },
  },
  {
    name: "oldest claims first, by name if they are of one second",
    reason: "whoever has waited longest",
    sandboxes: [aMember(1, { age: 30 }), aMember(2, { age: 20 })],
    claims: [aClaim("z", { metadata: { creationTimestamp: ago(20) } }), aClaim("b"), aClaim("a")],
    want: { "warm-1": "z", "warm-2": "a" },
    cold: ["b"],
  },
  {
    name: "a Ready one before an older one that only runs",
    reason: "Ready is what the claim waits for",
    sandboxes: [aMember(1, { age: 30, state: "starting" }), aMember(2, { age: 20 })],
    claims: [aClaim("c")],
    want: { "warm-2": "c" },
  },
  {
    name: "one that runs, where none is Ready",
    reason: "it is nearer than any other",
    sandboxes: [aMember(1, { state: "coming" }), aMember(2, { state: "starting" })],
    claims: [aClaim("c")],
    want: { "warm-2": "c" },
  },
  {
    name: "a wait for one without an address, while it is young",
    reason: "two seconds are less than a cold start",
    sandboxes: [aMember(1, { state: "coming" })],
    claims: [aClaim("c", young)],
    want: {},
  },
  {
    name: "a Sandbox of its own where another claim waits for the only one",
    reason: "a member serves one claim",
    sandboxes: [aMember(1, { state: "coming" })],
    claims: [aClaim("a", young), aClaim("b", young)],
    want: {},
    cold: ["b"],
  },
  {
    name: "a Sandbox of its own once it has waited two seconds",
    reason: "patience ends",
    sandboxes: [aMember(1, { state: "coming" })],
    claims: [aClaim("c", { metadata: { creationTimestamp: ago(2) } })],
    want: {},
    cold: ["c"],
  },
  {
    name: "a Sandbox of its own although it is of the far future",
    reason: "a clock that is wrong must not keep it waiting",
    sandboxes: [aMember(1, { state: "coming" })],
    claims: [aClaim("c", { metadata: { creationTimestamp: ago(-3600) } })],
    want: {},
    cold: ["c"],
  },
  {
    name: "a wait although it is of the near future",
    reason: "clocks differ by a little",
    sandboxes: [aMember(1, { state: "coming" })],
    claims: [aClaim("c", { metadata: { creationTimestamp: ago(-1) } })],
    want: {},
  },
  {
    name: "a Sandbox of its own if it does not say how old it is",
    reason: "nothing tells when its patience would end",
    sandboxes: [aMember(1, { state: "coming" })],
    claims: [aClaim("c", { metadata: { creationTimestamp: undefined } })],
    want: {},
    cold: ["c"],
  },
  {
    name: "a Sandbox of its own on an empty pool of none",
    reason: "the idiom for always cold",
    pool: none,
    claims: [aClaim("c")],
    want: {},
    cold: ["c"],
  },
  ...(["finished", "suspended", "expired", "invalid", "refused"] as const).map((state) => ({
    name: `no ${state} member`,
    reason: "its Ready would be final, or wrong",
    sandboxes: [aMember(1, { state })],
    claims: [aClaim("c", young)],
    want: {},
    cold: ["c"],
  })),
  {
    name: "a Sandbox of its own because of env, although a member is Ready",
    reason: "no member has its variables",
    template: OPEN,
    sandboxes: [aMember(1)],
    claims: [aClaim("c", { spec: ENV })],
    want: {},
    cold: ["c"],
  },
  {
    name: "nothing for env that the template forbids",
    reason: "it is told why, by others",
    sandboxes: [aMember(1)],
    claims: [aClaim("c", { spec: ENV })],
    want: {},
  },
  {
    name: "nothing for labels that are not allowed, template or not",
    reason: "no template would help",
    template: null,
    sandboxes: [aMember(1)],
    claims: [aClaim("c", { spec: { additionalPodMetadata: { labels: { app: "x" } } } })],
    want: {},
  },
  {
    name: "a member without a template",
    reason: "it is there, it runs",
    template: null,
    sandboxes: [aMember(1)],
    claims: [aClaim("c"), aClaim("d"), aClaim("e", { spec: ENV })],
    want: { "warm-1": "c" },
  },
  {
    name: "no stale member under Recreate",
    reason: "that is what Recreate promises",
    pool: recreate,
    sandboxes: [
      aMember(1, { metadata: { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "old" } } }),
      aMember(2),
    ],
    claims: [aClaim("c")],
    want: { "warm-2": "c" },
  },
  {
    name: "no member under Recreate without a template",
    reason: "nobody knows whether it is stale",
    pool: recreate,
    template: null,
    sandboxes: [aMember(1)],
    claims: [aClaim("c")],
    want: {},
  },
  {
    name: "a stale member under OnReplenish",
    reason: "stale ones are handed out",
    sandboxes: [aMember(1, { metadata: { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "old" } } })],
    claims: [aClaim("c")],
    want: { "warm-1": "c" },
  },
  {
    name: "the one made for it, although a member is Ready and it has no address yet",
    reason: "the claim is to own it from the start",
    template: OPEN,
    sandboxes: [aMember(1), aColdSandbox(aClaim("c"), { state: "none" })],
    claims: [aClaim("c", { spec: ENV })],
    want: { c: "c" },
  },
  {
    name: "a member, although one was made for a claim of its name before",
    reason: "another UID is another claim",
    sandboxes: [aMember(1), aColdSandbox(aClaim("c", { metadata: { uid: "uid-before" } }))],
    claims: [aClaim("c")],
    want: { "warm-1": "c" },
  },
  {
    name: "nothing while one made for a claim of its name before is there",
    reason: "two Sandboxes of a name in one answer would stop the pool",
    sandboxes: [aColdSandbox(aClaim("c", { metadata: { uid: "uid-before" } }))],
    claims: [aClaim("c")],
    want: {},
  },
  ...(["ready", "finished"] as const).map((state) => ({
    name: `nothing cold where a ${state} member has its name`,
    reason: "it must not be described again",
    template: OPEN,
    sandboxes: [aMember(1, { state })],
    claims: [aClaim("warm-1", { spec: ENV })],
    want: {},
  })),
  {
    name: "nothing cold where what is being deleted has its name",
    reason: "the API server takes none of that name yet",
    template: OPEN,
    sandboxes: [aMember(1, { metadata: { deletionTimestamp: ago(1) } })],
    claims: [aClaim("warm-1", { spec: ENV })],
    want: {},
  },
  {
    name: "a member of its own name",
    reason: "names of members and claims are no relation",
    sandboxes: [aMember(1)],
    claims: [aClaim("warm-1")],
    want: { "warm-1": "warm-1" },
  },
];

test.for(cases)("a claim gets $name", ({ want, cold = [], reason, ...world }) => {
  const answer = syncPool(world);
  expect(handOvers(answer), reason).toEqual(want);
  expect(newNames(answer, world).cold, reason).toEqual(cold);
});
