/**
 * Pods with a queue of Kueue, with what stands for its manager: to build the manager takes minutes. The same tests run with
 * the manager in test/soak/kueue.test.ts. @module
 */
import { afterAll, beforeAll } from "vitest";
import { startKueue } from "./kueue.ts";
import { testQueues } from "./queues.ts";
import { suite } from "./suite.ts";

const ends: (() => Promise<void>)[] = [];
beforeAll(() => startKueue(suite, (end) => void ends.push(end)));
afterAll(() => Promise.all(ends.map((end) => end())));

testQueues(() => suite);
