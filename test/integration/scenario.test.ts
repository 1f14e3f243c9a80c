/** The scenario files on the cluster and in memory: the same histories. @module */
import { readdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import {
  compareHistories,
  createTestCluster,
  PACES,
  runScenario,
  type ScenarioHistory,
  type TestClusterOptions,
} from "../../packages/testing/mod.ts";
import { changedHook } from "../testing/changedhook.ts";
import { makeNamespace } from "./namespace.ts";
import { suite } from "./suite.ts";

const FOLDER = new URL("../../packages/testing/scenarios/", import.meta.url);

/** On a busy machine it may take seconds from one write to the next. */
const QUIET_MS = 5000;

/** What the cluster has shown of each file. */
const shown = new Map<string, ScenarioHistory>();

async function onCluster(file: URL): Promise<ScenarioHistory> {
  const known = shown.get(file.href);
  if (known) return known;
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const { name: namespace } = await makeNamespace();
  const credentials = await kubeconfigCredentials(suite.kubeconfig);
  const api = connect(credentials, { signal: ending.signal, userAgent: "hookbox-test" });
  const history = await runScenario(file, { api, namespace }, { quietMs: QUIET_MS });
  shown.set(file.href, history);
  return history;
}

async function inMemory(file: URL, options: TestClusterOptions = {}): Promise<ScenarioHistory[]> {
  return await Promise.all(PACES.map(async (pods) => {
    await using cluster = await createTestCluster({ ...options, pods });
    return await runScenario(file, cluster);
  }));
}

test.for(readdirSync(FOLDER))("%s has the same history on the cluster as in memory", async (name) => {
  const file = new URL(name, FOLDER);
  const seen = await onCluster(file);
  expect(compareHistories(await inMemory(file), seen)).toEqual([]);
  expect(seen.segments.length).toBeGreaterThan(1);
});

test("a hook that decided otherwise in memory would have another history than the cluster", async () => {
  const file = new URL("claim-cold.yaml", FOLDER);
  const hooks = changedHook("sandbox", '"reason":"NotSuspended"', '"reason":"Awake"');
  expect(compareHistories(await inMemory(file, { hooks }), await onCluster(file))).not.toEqual([]);
});
