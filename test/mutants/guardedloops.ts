/** Mutants of what keeps hooks from being called without end, and of what a pool's status counts. @module */
import type { Mutant } from "./mutant.ts";

const RESYNC_TEST = ["test/webhook/resync.test.ts"];
const TIMES_TEST = ["test/hooks/transitiontimes.test.ts"];
const BATCHES_TEST = ["test/hooks/sandboxwarmpool/batchrules.test.ts"];

export const GUARDED_LOOPS: readonly Mutant[] = [
  {
    name: "a hook may ask to be called again at once",
    file: "packages/webhook/guard.ts",
    from: "seconds >= SHORTEST_RESYNC_SECONDS && ",
    to: "",
    tests: RESYNC_TEST,
  },
  {
    name: "a hook may ask to be called again when Metacontroller's numbers have run out",
    file: "packages/webhook/guard.ts",
    from: " && seconds <= LONGEST_RESYNC_SECONDS",
    to: "",
    tests: RESYNC_TEST,
  },
  {
    name: "a good hook asks for a wait that the guard refuses",
    file: "packages/webhook/metacontroller.ts",
    from: "Math.min(...known, LONGEST_WAIT_SECONDS)",
    to: "Math.min(...known)",
    tests: [...RESYNC_TEST, "test/hooks/sandbox/podlosses.test.ts"],
  },
  {
    name: "a status may say with each call that it has been so since now",
    file: "packages/webhook/statusrules.ts",
    from: "findCondition(before, type)?.status !== status && ",
    to: "",
    tests: TIMES_TEST,
  },
  {
    name: "a new condition may be so since any time",
    file: "packages/webhook/statusrules.ts",
    from: "age >= 0 && age < 1000",
    to: "!Number.isNaN(age)",
    tests: TIMES_TEST,
  },
  {
    name: "a claim may not say since when its Sandbox has been so",
    file: "hooks/sandboxclaim/statusrules.ts",
    from: "copied: (observed) => conditionsOf(boundIn(observed) ?? {}),",
    to: "",
    tests: TIMES_TEST,
  },
  {
    name: "a pool's numbers run out",
    file: "hooks/sandboxwarmpool/statusrules.ts",
    from: " && number <= highestOfAll(observed)",
    to: "",
    tests: BATCHES_TEST,
  },
  {
    name: "a pool counts more members than it makes",
    file: "hooks/sandboxwarmpool/statusrules.ts",
    from: "number === Math.max(...made)",
    to: "number >= Math.max(...made)",
    tests: BATCHES_TEST,
  },
  {
    name: "a pool may forget what it has asked for",
    file: "hooks/sandboxwarmpool/statusrules.ts",
    from: "made.length === 0 || isRecent(",
    to: "isRecent(",
    tests: BATCHES_TEST,
  },
  {
    name: "a pool that asks for more may forget what is on its way",
    file: "hooks/sandboxwarmpool/statusrules.ts",
    from: "isRecent(batch, now) || ",
    to: "",
    tests: BATCHES_TEST,
  },
  {
    name: "a pool loses a member with each call",
    file: "hooks/sandboxwarmpool/statusrules.ts",
    from: "members < (status?.replicas ?? 0) && ",
    to: "",
    tests: BATCHES_TEST,
  },
];
