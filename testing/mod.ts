/** `hookbox/testing`: a cluster in memory for tests of what uses hookbox. @module */
export type { ApiFault } from "./api/memoryapi.ts";
export { createTestCluster, type TestCluster, type TestClusterOptions } from "./cluster.ts";
export type { PastStatus } from "./history.ts";
export type { PodFate, PodFault, PodMatch } from "./podfaults.ts";
export type { PodControls } from "./pods.ts";
export { compareHistories, PACES, type ScenarioHistory, type Segment } from "./scenario/compare.ts";
export type { Digest } from "./scenario/digest.ts";
export { readScenario, type Scenario } from "./scenario/format.ts";
export { runScenario, type ScenarioOptions, type ScenarioWorld } from "./scenario/run.ts";
export type { LooseObject, Verbs } from "./verbs.ts";
