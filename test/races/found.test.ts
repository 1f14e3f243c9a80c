/** Races that random runs have found, each as small as it gets; those of processes that come and go are apart. @module */
import { test } from "vitest";
import { expectHolds, type Found } from "./found.ts";
import { CALM, type Scenario } from "./world.ts";

const LATE: Scenario["fates"] = [{ startMs: 649, probeMs: 0, fate: "ready", lifeMs: 0 }];

const cases: Found[] = [
  {
    name:
      "a binder that sees a claim late, and whose answer was lost, gives it a second Sandbox after the first is gone",
    reason:
      "annotations were written to a version of the claim that the binder had not seen, Ready with the first Sandbox",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 2, cold: false, wait: 914 },
        { act: "scale", replicas: 3, wait: 1429 },
        { act: "dropSandbox", claim: 0, wait: 899 },
      ],
      fates: [{ startMs: 1419, probeMs: 319, fate: "ready", lifeMs: 222 }],
      forecast: {
        ...CALM,
        requestMs: [23],
        troubles: [{ nth: 9, outcome: "lost" }],
        gaps: [{ kind: "SandboxClaim", from: 1903, lasts: 1079 }],
      },
    },
  },
  {
    name: "Ready on the heels of a status that Metacontroller does not see yet",
    reason: "the write is refused, and the status alone wakes nobody",
    scenario: {
      replicas: 0,
      acts: [{ act: "claim", claim: 0, wait: 0 }],
      fates: LATE,
      forecast: {
        ...CALM,
        requestMs: [0],
        answerMs: [0, 30],
        lags: [{ kind: "Sandbox", from: 3, lasts: 711, delay: 272 }],
      },
    },
  },
  {
    name: "Metacontroller sees a Sandbox late that is Ready, and later still that its claim says so",
    reason: "an old view would take the claim's Ready back, and the look that is pending comes before that is seen",
    scenario: {
      replicas: 0,
      acts: [{ act: "claim", claim: 0, wait: 0 }],
      fates: [{ startMs: 970, probeMs: 0, fate: "ready", lifeMs: 0 }],
      forecast: {
        ...CALM,
        requestMs: [20],
        answerMs: [10],
        lags: [
          { kind: "Sandbox", of: "engine", from: 1153, lasts: 500, delay: 160 },
          { kind: "SandboxClaim", of: "engine", from: 1213, lasts: 500, delay: 70 },
        ],
      },
    },
  },
  {
    name: "the user deletes the Sandbox of a claim whose label could not be written",
    reason: "to Metacontroller the claim looks as if it had never had one",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 2, cold: true, wait: 1826 },
        { act: "dropSandbox", claim: 2, wait: 721 },
      ],
      forecast: {
        ...CALM,
        requestMs: [56, 5, 13, 11],
        answerMs: [37, 47, 30],
        troubles: Array.from({ length: 60 }, (_, nth) => ({ nth, outcome: "lost" as const })),
        lags: [{ kind: "SandboxClaim", from: 1900, lasts: 2000, delay: 744 }],
      },
    },
  },
  {
    name: "a claim is deleted and made anew while a Sandbox is being made for it",
    reason: "that one is the old claim's, and has the name",
    scenario: {
      replicas: 0,
      acts: [{ act: "claim", claim: 0, wait: 500 }, { act: "reclaim", claim: 0, wait: 3 }],
    },
  },
  {
    name: "a claim is deleted and created again when its Sandbox has just been bound, and the pool sees that late",
    reason: "the Sandbox leaves the pool's view without waking it",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 0, cold: true, wait: 500 },
        { act: "reclaim", claim: 0, cold: true, wait: 330 },
      ],
      forecast: {
        ...CALM,
        requestMs: [37, 34, 0],
        answerMs: [5, 36],
        lags: [{ kind: "Sandbox", from: 0, lasts: 1500, delay: 250 }],
      },
    },
  },
  {
    name: "the pool's hook is started anew before what it made for an empty pool shows",
    reason: "it asks for the same names, not for as many again",
    scenario: {
      replicas: 2,
      acts: [
        { act: "restartHook", hook: "sandboxwarmpool", wait: 20 },
        { act: "touch", kind: "SandboxWarmPool", member: 0, wait: 0 },
      ],
      forecast: { ...CALM, lags: [{ kind: "Sandbox", from: 0, lasts: 90, delay: 90 }] },
    },
  },
  {
    name: "a view of the pool that is older than its status, while a member is bound and goes with its claim",
    reason: "what the status counted before is not counted any more, and the next member would have its name",
    scenario: {
      replicas: 2,
      acts: [
        { act: "claim", claim: 0, expiresInMs: 150, policy: "Delete", wait: 2 },
        { act: "extend", claim: 0, byMs: 500, wait: 200 },
      ],
      fates: [{ startMs: 0, probeMs: 0, fate: "fails", lifeMs: 0 }],
      forecast: {
        ...CALM,
        requestMs: [0],
        answerMs: [0],
        gaps: [{ kind: "SandboxWarmPool", of: "engine", from: 0, lasts: 26 }],
      },
    },
  },
  {
    name: "an old view of its Sandbox reverts that a claim is Ready, and that write is seen late",
    reason: "the look a moment later sees the claim as it was before, and nothing else would look again",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 0, cold: false, wait: 300 },
        { act: "suspend", claim: 0, resume: false, wait: 0 },
      ],
      hasVolumes: true,
      forecast: {
        ...CALM,
        requestMs: [58],
        answerMs: [0],
        lags: [{ kind: "SandboxClaim", from: 0, lasts: 1209, delay: 192 }],
        gaps: [{ kind: "Sandbox", of: "engine", from: 551, lasts: 598 }],
      },
    },
  },
  {
    name: "nobody sees the Sandbox that a claim was given, and its pool is deleted in between",
    reason: "the claim looks as if it had none, and a missing pool is final to its clients",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 1, cold: false, wait: 100 },
        { act: "dropPool", foreground: false, wait: 0 },
        { act: "claim", claim: 0, wait: 300 },
        { act: "scale", replicas: 0, wait: 0 },
      ],
      forecast: { ...CALM, requestMs: [0], answerMs: [0], gaps: [{ kind: "Sandbox", from: 0, lasts: 1602 }] },
    },
  },
  {
    name: "a claim's end is put off after it has expired, and nobody looks until that end has come, too",
    reason: "its status says that it has expired, but of the spec before, and the keeper believes no such status",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 0, expiresInMs: 150, policy: "Delete", wait: 0 },
        { act: "extend", claim: 0, byMs: 500, wait: 200 },
        { act: "claim", claim: 0, cold: false, wait: 300 },
        { act: "restartEngine", overlap: false, wait: 0 },
      ],
      forecast: { ...CALM, requestMs: [0], answerMs: [0], gaps: [{ kind: "SandboxClaim", from: 35, lasts: 465 }] },
    },
  },
  {
    name: "a pool is scaled to none and up again while its own view lags further behind than that of its members",
    reason:
      "an answer from before took its count of numbers back, and the number of a member that is gone was given again",
    scenario: {
      replicas: 1,
      acts: [
        { act: "claim", claim: 0, cold: false, wait: 300 },
        { act: "scale", replicas: 0, wait: 0 },
        { act: "claim", claim: 0, cold: false, wait: 300 },
        { act: "scale", replicas: 3, wait: 0 },
      ],
      forecast: {
        ...CALM,
        requestMs: [0],
        answerMs: [0],
        lags: [
          { kind: "Sandbox", from: 170, lasts: 132, delay: 421 },
          { kind: "SandboxWarmPool", from: 0, lasts: 723, delay: 421 },
          { kind: "Sandbox", from: 0, lasts: 933, delay: 210 },
        ],
      },
    },
  },
  {
    name: "a claim is changed while a new binder looks for what the one before it has bound",
    reason: "what the claim asks for then was not checked when its Sandbox was chosen",
    scenario: {
      replicas: 2,
      acts: [
        { act: "restartBinder", overlap: false, wait: 380 },
        { act: "claim", claim: 0, wait: 20 },
        { act: "forge", claim: 0, wait: 90 },
      ],
      fates: Array.from({ length: 2 }, () => ({ fate: "ready" as const, startMs: 30, probeMs: 30, lifeMs: 0 })),
      forecast: { ...CALM, requestMs: [20] },
    },
  },
  {
    name:
      "the status that binds a claim has no answer, its Pod fails, and its Sandbox is deleted before the binder sees that",
    reason: "the claim got another Sandbox, and was Ready after PodFailed",
    scenario: {
      replicas: 2,
      acts: [
        { act: "claim", claim: 0, wait: 401 },
        { act: "dropSandbox", claim: 0, wait: 600 },
      ],
      fates: [
        ...Array.from({ length: 3 }, () => ({ fate: "dies" as const, startMs: 30, probeMs: 30, lifeMs: 450 })),
        ...Array.from({ length: 4 }, () => ({ fate: "ready" as const, startMs: 30, probeMs: 30, lifeMs: 0 })),
      ],
      forecast: {
        ...CALM,
        requestMs: [5],
        troubles: [{ nth: 8, of: "binder", outcome: "lost" }],
        gaps: [{ kind: "SandboxClaim", of: "binder", from: 403, lasts: 4000 }],
      },
    },
  },
];

test.for(cases)("$name: $reason", ({ scenario }) => expectHolds(scenario));
