/** Why hooks let children go: each reason holds for what it is about, and for nothing else. @module */
import { expect, test } from "vitest";
import * as sandboxes from "../../hooks/sandbox/deletionreasons.ts";
import * as claims from "../../hooks/sandboxclaim/deletionreasons.ts";
import * as templates from "../../hooks/sandboxtemplate/deletionreasons.ts";
import * as pools from "../../hooks/sandboxwarmpool/deletionreasons.ts";
import type { DeletionReason } from "../../packages/webhook/guard.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { aClaim, aClaimed, aClaimRequest } from "../claimbuilders.ts";
import { aPoolRequest } from "../poolcalls.ts";
import { aMember, aPool } from "../pools.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "../sandboxes.ts";
import { aTemplate, aTemplateRequest } from "../templates.ts";

const PAST = "2026-11-21T11:59:59Z";
const AHEAD = "2026-11-21T12:00:01Z";
const pod = aReadyPod();
const service = aChild("Service");
const volume = aChild("PersistentVolumeClaim", { metadata: { name: "home" } });
const policy = aChild("NetworkPolicy");
const mine = aClaimed();
const other = { ...mine, metadata: { ...mine.metadata, name: "other", uid: "uid-other" } };

type Reasons = Readonly<Record<string, DeletionReason<unknown>>>;
interface Case {
  of: { deletionReasons: object };
  words: string;
  name: string;
  child: object;
  observed: object;
  want: boolean;
}

/** A decorator's request as its hook sees it. */
const decorated = ({ object, attachments }: { object: unknown; attachments: unknown }) => ({
  parent: object,
  children: attachments,
});
const templateOf = (networkPolicyManagement: string) =>
  decorated(aTemplateRequest(aTemplate({ spec: { networkPolicyManagement } })));
const sandboxOf = (spec: object) => aRequest(aSandbox({ spec }), [pod, service, volume]);
const claimOf = (over: Parameters<typeof aClaim>[0], attached = [mine, other]) =>
  decorated(aClaimRequest(aClaim(over), attached));
const named = (name: string) => ({ status: { conditions: [], sandbox: { name, podIPs: [] } } });
const ending = (shutdownPolicy: string, shutdownTime: string) => ({
  spec: { lifecycle: { shutdownPolicy, shutdownTime } },
});

const SANDBOX = { of: sandboxes };
const CLAIM = { of: claims };
const CASES: Case[] = [
  {
    ...SANDBOX,
    words: sandboxes.EXPIRED,
    name: "a Pod, by its time",
    child: pod,
    observed: sandboxOf({ shutdownTime: PAST }),
    want: true,
  },
  {
    ...SANDBOX,
    words: sandboxes.EXPIRED,
    name: "a Pod before its time",
    child: pod,
    observed: sandboxOf({ shutdownTime: AHEAD }),
    want: false,
  },
  {
    ...SANDBOX,
    words: sandboxes.EXPIRED,
    name: "a Pod without a time",
    child: pod,
    observed: sandboxOf({}),
    want: false,
  },
  {
    ...SANDBOX,
    words: sandboxes.EXPIRED,
    name: "a volume",
    child: volume,
    observed: sandboxOf({ shutdownTime: PAST }),
    want: false,
  },
  {
    ...SANDBOX,
    words: sandboxes.SUSPENDED,
    name: "a Pod",
    child: pod,
    observed: sandboxOf({ operatingMode: "Suspended" }),
    want: true,
  },
  { ...SANDBOX, words: sandboxes.SUSPENDED, name: "a Pod that runs", child: pod, observed: sandboxOf({}), want: false },
  {
    ...SANDBOX,
    words: sandboxes.SUSPENDED,
    name: "a volume",
    child: volume,
    observed: sandboxOf({ operatingMode: "Suspended" }),
    want: false,
  },
  {
    ...SANDBOX,
    words: sandboxes.NO_SERVICE,
    name: "a Service",
    child: service,
    observed: sandboxOf({ service: false }),
    want: true,
  },
  {
    ...SANDBOX,
    words: sandboxes.NO_SERVICE,
    name: "a Pod",
    child: pod,
    observed: sandboxOf({ service: false }),
    want: false,
  },
  {
    ...SANDBOX,
    words: sandboxes.NO_SERVICE,
    name: "a Service that is not spoken of",
    child: service,
    observed: sandboxOf({}),
    want: false,
  },
  {
    ...CLAIM,
    words: claims.EXPIRED,
    name: "a Sandbox, by its time",
    child: mine,
    observed: claimOf(ending("Retain", PAST)),
    want: true,
  },
  {
    ...CLAIM,
    words: claims.EXPIRED,
    name: "a Sandbox before its time",
    child: mine,
    observed: claimOf(ending("Retain", AHEAD)),
    want: false,
  },
  {
    ...CLAIM,
    words: claims.EXPIRED,
    name: "a Sandbox of a claim that goes itself",
    child: mine,
    observed: claimOf(ending("Delete", PAST)),
    want: false,
  },
  {
    ...CLAIM,
    words: claims.ANOTHER,
    name: "the other one",
    child: other,
    observed: claimOf(named(mine.metadata.name)),
    want: true,
  },
  {
    ...CLAIM,
    words: claims.ANOTHER,
    name: "the named one",
    child: mine,
    observed: claimOf(named(mine.metadata.name)),
    want: false,
  },
  {
    ...CLAIM,
    words: claims.ANOTHER,
    name: "one next to a name that is not there",
    child: mine,
    observed: claimOf(named("gone")),
    want: false,
  },
  { ...CLAIM, words: claims.ANOTHER, name: "one where none is named", child: mine, observed: claimOf({}), want: false },
  {
    of: templates,
    words: templates.UNMANAGED,
    name: "a policy",
    child: policy,
    observed: templateOf("Unmanaged"),
    want: true,
  },
  {
    of: templates,
    words: templates.UNMANAGED,
    name: "a policy that is managed",
    child: policy,
    observed: templateOf("Managed"),
    want: false,
  },
];

test.for(CASES)("$words: $name", ({ of, words, child, observed, want }) => {
  const reason = (of.deletionReasons as Reasons)[words];
  expect(reason?.holds(child as KubeObject, observed as Observed<unknown>, NOW)).toBe(want);
});

const DRAINING = "agents.x-k8s.io/draining";
const marked = aMember(1, { metadata: { labels: { [DRAINING]: "stale" } } });
const unreadable = aMember(2, {
  metadata: { annotations: { "metacontroller.k8s.io/last-applied-configuration": "{" } },
});

test.for(Object.entries(pools.DRAIN_WORDS))(
  "a pool deletes no member that is as it should be: %s, %s",
  ([reason, words]) => {
    const holds = (child: object) => pools.deletionReasons[words]?.holds(child as KubeObject, aPoolRequest(), NOW);
    const isForUnreadable = reason === "broken";
    expect([holds(aMember(3)), holds(marked), holds(unreadable)]).toEqual([false, !isForUnreadable, isForUnreadable]);
  },
);

test("of surplus, as many are meant as the pool has beyond its replicas; those on their way out do not count", () => {
  const going = aMember(9, { metadata: { deletionTimestamp: PAST } });
  const stated = (replicas: number, sandboxes: ReturnType<typeof aMember>[]) =>
    pools.deletionReasons["surplus"]?.stated?.(aPoolRequest({ pool: aPool({ spec: { replicas } }), sandboxes }));
  const four = [3, 4, 5, 6].map((number) => aMember(number));
  expect([stated(3, four), stated(4, four), stated(3, [...four, marked, going])]).toEqual([1, 0, 1]);
});
