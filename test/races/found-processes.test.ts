/** Races that random runs have found with processes that are started anew or run twice, each as small as it gets. @module */
import { test } from "vitest";
import { expectHolds, type Found } from "./found.ts";
import { CALM } from "./world.ts";

const cases: Found[] = [
  {
    name: "a claim loses its member to another writer, gets the next one, and the annotations of the first land last",
    reason: "they were sent and nobody waited for them, so a Ready claim named a Sandbox that it did not have",
    scenario: {
      replicas: 2,
      acts: [
        { act: "claim", claim: 1, expiresInMs: 0, policy: "Retain", wait: 100 },
        { act: "restartBinder", overlap: false, wait: 0 },
        { act: "claim", claim: 2, cold: true, wait: 100 },
        { act: "claim", claim: 0, cold: false, wait: 0 },
      ],
      fates: [],
      forecast: {
        ...CALM,
        requestMs: [0, 37, 0, 0, 0, 32, 0],
        answerMs: [16, 8, 27, 59],
        troubles: [{ nth: 16, of: undefined, outcome: "touched" }, { nth: 4, of: undefined, outcome: "touched" }],
      },
      doubles: ["engine"],
    },
  },
  {
    name: "binders change while events of claims get lost, and neither says what the claim was given",
    reason: "the old one is gone before the Sandbox is Ready, and the hook is silent for its sake",
    scenario: {
      replicas: 0,
      acts: [{ act: "restartBinder", overlap: true, wait: 2000 }, {
        act: "claim",
        claim: 0,
        cold: true,
        wait: 163,
      }],
      fates: [],
      forecast: {
        ...CALM,
        requestMs: [17],
        answerMs: [28],
        gaps: [{ kind: "SandboxClaim", from: 1920, lasts: 600 }],
      },
    },
  },
  {
    name:
      "a claim says that its Sandbox is not Ready, and that gets lost; the binder is another by the time that it is",
    reason: "hook and binder each take it for the other's to say",
    scenario: {
      replicas: 0,
      acts: [
        { act: "scale", replicas: 1, wait: 0 },
        { act: "claim", claim: 0, cold: true, wait: 100 },
        { act: "reclaim", claim: 0, cold: true, wait: 850 },
        { act: "restartBinder", overlap: false, wait: 700 },
      ],
      fates: [{ startMs: 0, probeMs: 0, fate: "ready", lifeMs: 0 }, {
        startMs: 0,
        probeMs: 0,
        fate: "fails",
        lifeMs: 0,
      }, { startMs: 400, probeMs: 0, fate: "ready", lifeMs: 0 }],
      forecast: {
        ...CALM,
        requestMs: [100],
        answerMs: [0],
        gaps: [{ kind: "SandboxClaim", from: 1600, lasts: 584 }],
      },
    },
  },
  {
    name: "the user deletes the Sandbox of a claim whose pool is gone, and the claim's status was never seen",
    reason: "to the hook the claim looks as if it had never had one",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 0, cold: true, wait: 100 },
        { act: "claim", claim: 1, cold: false, wait: 0 },
        { act: "dropPool", foreground: true, wait: 30 },
        { act: "unclaim", claim: 1, foreground: true, wait: 0 },
        { act: "dropSandbox", claim: 0, wait: 1000 },
      ],
      fates: [{ startMs: 0, probeMs: 0, fate: "hangs", lifeMs: 0 }, {
        startMs: 600,
        probeMs: 164,
        fate: "ready",
        lifeMs: 0,
      }],
      forecast: {
        ...CALM,
        requestMs: [30, 54, 40, 5],
        answerMs: [50, 0, 20, 0],
        gaps: [{ kind: "SandboxClaim", of: "engine", from: 339, lasts: 1500 }],
      },
    },
  },
  {
    name: "two Metacontrollers at once, and the one that has seen less writes a Sandbox's status last",
    reason: "its Pod is Ready, the Sandbox says that it is not, and nobody is called for a change of status",
    scenario: {
      replicas: 2,
      acts: [
        { act: "restartEngine", overlap: true, wait: 152 },
        { act: "claim", claim: 0, cold: true, wait: 10 },
        { act: "unclaim", claim: 0, foreground: false, wait: 0 },
        { act: "claim", claim: 1, cold: false, wait: 0 },
        { act: "suspend", claim: 0, resume: false, wait: 400 },
        { act: "claim", claim: 0, cold: true, wait: 20 },
      ],
      fates: [{ startMs: 0, probeMs: 0, fate: "ready", lifeMs: 0 }, {
        startMs: 0,
        probeMs: 0,
        fate: "hangs",
        lifeMs: 0,
      }],
      forecast: { ...CALM, requestMs: [25], answerMs: [36, 0, 10, 40, 16, 36] },
    },
  },
  {
    name: "two Metacontrollers at once, one of which misses events of the pool and writes its status last",
    reason: "its members count as never seen, and no claim is given one until the pool is looked at, a minute later",
    scenario: {
      acts: [
        { act: "claim", claim: 0, cold: false, wait: 300 },
        { act: "restartEngine", overlap: true, wait: 0 },
      ],
      forecast: {
        ...CALM,
        requestMs: [0],
        answerMs: [0],
        gaps: [{ kind: "SandboxWarmPool", from: 0, lasts: 806 }],
      },
    },
  },
  {
    name: "two Metacontrollers at once, one of which misses events of claims, and a claim's Sandbox is suspended",
    reason: "the claim says so, and shows the addresses that the Sandbox had",
    scenario: {
      replicas: 0,
      acts: [
        { act: "claim", claim: 0, cold: false, wait: 300 },
        { act: "restartEngine", overlap: false, wait: 0 },
        { act: "claim", claim: 1, cold: false, wait: 300 },
        { act: "suspend", claim: 0, resume: false, wait: 300 },
      ],
      fates: [],
      forecast: {
        ...CALM,
        requestMs: [11, 23, 54, 28, 34],
        answerMs: [44, 28, 49],
        mishaps: [{ nth: 36, outcome: "lost" }],
        gaps: [{ kind: "SandboxClaim", from: 1300, lasts: 300 }],
      },
      hasVolumes: true,
      doubles: ["engine"],
    },
  },
  {
    name:
      "a write of a Sandbox is refused while events of it get lost, and a new Metacontroller's views of claims are old",
    reason: "the claim keeps an error that its Sandbox had: it may be one of its own, by its reason",
    scenario: {
      replicas: 1,
      acts: [
        { act: "claim", claim: 0, cold: false, wait: 462 },
        { act: "scale", replicas: 0, wait: 0 },
        { act: "claim", claim: 1, cold: false, wait: 300 },
        { act: "restartEngine", overlap: false, wait: 928 },
      ],
      fates: [{ startMs: 41, probeMs: 0, fate: "ready", lifeMs: 0 }],
      forecast: {
        ...CALM,
        requestMs: [32, 22, 10],
        answerMs: [27, 47, 0, 0],
        troubles: [{ nth: 27, outcome: "refused" }],
        gaps: [
          { kind: "Sandbox", from: 100, lasts: 1870 },
          { kind: "SandboxClaim", from: 2203, lasts: 330 },
        ],
      },
      hasVolumes: true,
    },
  },
];

test.for(cases)("$name: $reason", ({ scenario }) => expectHolds(scenario));
