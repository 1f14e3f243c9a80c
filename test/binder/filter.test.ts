/** What a claim gets that wants a Sandbox, and what keeps it waiting: the table of choose(). @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { candidatesOf, type Choice, choose } from "../../packages/binder/filter.ts";
import { createMembers } from "../../packages/binder/score.ts";
import { aClaim, ago, aMember, aPool, aReturned, COUNTED } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const DOMAINS = ["sandbox.users.io"];
const ENV = { env: [{ name: "A", value: "1" }] };
const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" } });
const aged = (seconds: number) => aClaim("c", { metadata: { creationTimestamp: ago(seconds) } });
const young = aged(1);
const recreate = aPool({ status: COUNTED, spec: { updateStrategy: { type: "Recreate" } } });
const stale = { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": "old" } };
const ports = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
const trapped = { podTemplate: { spec: { containers: [{ name: "main", image: "python", ports }] } } };
const coming = aMember(1, { state: "coming" });

interface Case {
  name: string;
  reason: string;
  claim?: SandboxClaim;
  /** null: there is none. */
  pool?: SandboxWarmPool | null;
  template?: SandboxTemplate | null;
  sandboxes?: Sandbox[];
  waiting?: number;
  policyProblem?: string;
  want: string;
}

const cases: Case[] = [
  { name: "a Ready member", reason: "that is what pools are for", sandboxes: [aMember(1)], want: "warm-1" },
  {
    name: "one that runs, where none is Ready",
    reason: "it is nearer than any other",
    sandboxes: [coming, aMember(2, { state: "starting" })],
    want: "warm-2",
  },
  {
    name: "a wait",
    reason: "two seconds are less than a cold start",
    claim: young,
    sandboxes: [coming],
    want: "wait 1000",
  },
  {
    name: "a Sandbox of its own where another waits for the only one",
    reason: "a member serves one claim",
    claim: young,
    sandboxes: [coming],
    waiting: 1,
    want: "cold",
  },
  {
    name: "a wait where two come and one is waited for",
    reason: "there is one for each",
    claim: young,
    sandboxes: [coming, aMember(2, { state: "coming" })],
    waiting: 1,
    want: "wait 1000",
  },
  {
    name: "a Sandbox of its own after two seconds",
    reason: "patience ends",
    claim: aged(2),
    sandboxes: [coming],
    want: "cold",
  },
  {
    name: "a Sandbox of its own although it is of the far future",
    reason: "a clock that is wrong must not keep it waiting",
    claim: aged(-3600),
    sandboxes: [coming],
    want: "cold",
  },
  {
    name: "a wait although it is of the near future",
    reason: "clocks differ by a little",
    claim: aged(-1),
    sandboxes: [coming],
    want: "wait 1000",
  },
  {
    name: "a Sandbox of its own if it does not say how old it is",
    reason: "nothing tells when its patience would end",
    claim: aClaim("c", { metadata: { creationTimestamp: undefined } }),
    sandboxes: [coming],
    want: "cold",
  },
  { name: "a Sandbox of its own on an empty pool", reason: "nothing is coming", claim: young, want: "cold" },
  ...(["finished", "suspended", "expired", "invalid", "refused"] as const).map((state) => ({
    name: `no ${state} member`,
    reason: "its Ready would be final, or wrong",
    claim: young,
    sandboxes: [aMember(1, { state })],
    want: "cold",
  })),
  {
    name: "a Sandbox of its own because of env, although a member is Ready",
    reason: "no member has its variables",
    claim: aClaim("c", { spec: ENV }),
    template: OPEN,
    sandboxes: [aMember(1)],
    want: "cold",
  },
  {
    name: "a Sandbox of its own because of volumes",
    reason: "no member has them",
    claim: aClaim("c", { spec: { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] } }),
    template: OPEN,
    sandboxes: [aMember(1)],
    want: "cold",
  },
  {
    name: "nothing for env that the template forbids",
    reason: "its status reports why",
    claim: aClaim("c", { spec: ENV }),
    sandboxes: [aMember(1)],
    want: "refused: EnvVarsInjectionRejected",
  },
  ...[aTemplate(), null].map((template) => ({
    name: `nothing for labels that are not allowed, ${template ? "with" : "without"} a template`,
    reason: "no template would help",
    claim: aClaim("c", { spec: { additionalPodMetadata: { labels: { app: "x" } } } }),
    template,
    sandboxes: [aMember(1)],
    want: "refused: InvalidMetadata",
  })),
  {
    name: "a member without a template",
    reason: "it is there, it runs",
    template: null,
    sandboxes: [aMember(1)],
    want: "warm-1",
  },
  {
    name: "nothing without template and member",
    reason: "nothing to make it from",
    template: null,
    want: "refused: TemplateNotFound, awaits a member",
  },
  {
    name: "nothing with env and without a template",
    reason: "nobody knows whether it is allowed",
    claim: aClaim("c", { spec: ENV }),
    template: null,
    sandboxes: [aMember(1)],
    want: "refused: TemplateNotFound",
  },
  {
    name: "nothing without a pool",
    reason: "it may come",
    pool: null,
    sandboxes: [aMember(1)],
    want: "refused: WarmPoolNotFound",
  },
  {
    name: "nothing of a pool that is being deleted",
    reason: "its members go with it",
    pool: aPool({ status: COUNTED, metadata: { deletionTimestamp: ago(1) } }),
    sandboxes: [aMember(1)],
    want: "refused: ReconcilerError",
  },
  {
    name: "nothing while its template's NetworkPolicy is not in force",
    reason: "no sandbox starts without it",
    policyProblem: "it is missing",
    sandboxes: [aMember(1)],
    want: "refused: ReconcilerError",
  },
  {
    name: "no Sandbox of its own if its name is too long for a Service",
    reason: "the API server would refuse it",
    claim: aClaim("n".repeat(64)),
    template: aTemplate({ spec: { service: true } }),
    want: "refused: InvalidConfiguration, awaits a member",
  },
  {
    name: "no stale member under Recreate",
    reason: "that is what Recreate promises",
    pool: recreate,
    sandboxes: [aMember(1, { age: 90, metadata: stale }), aMember(2)],
    want: "warm-2",
  },
  {
    name: "no member under Recreate without a template",
    reason: "nobody knows whether it is stale",
    pool: recreate,
    template: null,
    sandboxes: [aMember(1)],
    want: "refused: TemplateNotFound, awaits a member",
  },
  {
    name: "a stale member under OnReplenish",
    reason: "stale ones are handed out",
    sandboxes: [aMember(1, { metadata: stale })],
    want: "warm-1",
  },
  ...[aMember(1, { applied: { spec: trapped } }), aMember(1, { applied: null }), aReturned(1)].map((
    sandbox,
    index,
  ) => ({
    name: `no member that cannot be bound as it is, ${["ports", "foreign", "returned"][index]}`,
    reason: "Metacontroller's merge would change its Pod, or keep its owner",
    sandboxes: [sandbox, aMember(2)],
    want: "warm-2",
  })),
  {
    name: "a member of its own name",
    reason: "names of members and claims are no relation",
    claim: aClaim("warm-1"),
    sandboxes: [aMember(1)],
    want: "warm-1",
  },
];

function textOf(choice: Choice): string {
  if (choice.kind === "member") return choice.sandbox.metadata.name;
  if (choice.kind !== "refused") return choice.kind === "wait" ? `wait ${choice.ms}` : choice.kind;
  const { problem, awaitsMember } = choice;
  return `refused: ${problem?.reason ?? "reports nothing"}${awaitsMember ? ", awaits a member" : ""}`;
}

test.for(cases)(
  "a claim gets $name",
  ({ want, reason, claim = aClaim("c"), sandboxes = [], waiting = 0, policyProblem, ...world }) => {
    const { pool = aPool({ status: COUNTED }), template = aTemplate() } = world;
    const members = createMembers();
    for (const sandbox of sandboxes) members.put(sandbox);
    const offer = candidatesOf(pool ?? undefined, template ?? undefined, members, NOW.getTime(), policyProblem);
    expect(textOf(choose(claim, { ...offer, waiting }, DOMAINS, NOW.getTime())), reason).toBe(want);
  },
);

test("a claim whose annotations are of a domain that is not allowed gets no member, and no Sandbox of its own", () => {
  const claim = aClaim("c", { spec: { additionalPodMetadata: { annotations: { "vault.example/role": "admin" } } } });
  for (const template of [aTemplate(), undefined]) {
    const offer = candidatesOf(aPool(), template, createMembers(), NOW.getTime());
    const given = (domains?: string[]) => choose(claim, offer, DOMAINS, NOW.getTime(), domains).kind;
    expect([given(["other.example"]), given([])]).toEqual(["refused", "refused"]);
    expect(given(["vault.example"])).toBe(given());
  }
});
