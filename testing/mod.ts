/** `hookbox/testing`: a cluster in memory for tests of what uses hookbox. @module */
export type { ApiFault } from "./api/memoryapi.ts";
export { createTestCluster, type TestCluster, type TestClusterOptions } from "./cluster.ts";
export type { PastStatus } from "./history.ts";
export type { PodFate, PodFault, PodMatch } from "./podfaults.ts";
export type { PodControls } from "./pods.ts";
export type { LooseObject, Verbs } from "./verbs.ts";
