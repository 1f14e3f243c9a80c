/** The root cause of faults on a real cluster: the first answer that is not "still starting" has to be the right one. @module */
import { setTimeout as sleep } from "node:timers/promises";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { renderFinding, runWhy } from "../../packages/cli/commands/why.ts";
import type { Finding } from "../../packages/api/diagnosis/finding.ts";
import type { Api } from "../../packages/kube/api.ts";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { CLAIM_FAULTS } from "./whyfaults/claims.ts";
import { CONTAINER_FAULTS } from "./whyfaults/containers.ts";
import type { Fault } from "./whyfaults/fault.ts";
import { REFUSALS } from "./whyfaults/refusals.ts";
import { SCHEDULING_FAULTS } from "./whyfaults/scheduling.ts";
import { STATES } from "./whyfaults/states.ts";
import { hasRealNode, suite } from "../integration/suite.ts";
import { PATIENCE_MS } from "../patience.ts";

const FAULTS = [...CLAIM_FAULTS, ...REFUSALS, ...SCHEDULING_FAULTS, ...CONTAINER_FAULTS, ...STATES];
const canBeMade = ({ needs }: Fault) => needs === undefined || hasRealNode;
const ends: (() => Promise<void>)[] = [];
const atEnd = (end: () => Promise<void>) => void ends.push(end);
const found = new Map<Fault, Promise<Answer>>();

interface Answer {
  namespace: string;
  /** The first that is not Starting. */
  first: Finding;
  /** The same a moment later. */
  second: Finding;
  seconds: number;
}

beforeAll(async () => {
  const credentials = await kubeconfigCredentials(suite.kubeconfig);
  const end = new AbortController();
  const api = connect(credentials, { signal: end.signal, userAgent: "hookbox-test" });
  const shared = await makeNamespace(undefined, atEnd);
  for (const fault of FAULTS.filter(canBeMade)) {
    const answer = explain(fault, api, shared);
    answer.catch(() => {});
    found.set(fault, answer);
  }
  await Promise.allSettled(found.values());
  ends.push(() => Promise.resolve(end.abort()));
});

afterAll(async () => {
  for (const end of ends) await end();
});

async function explain(fault: Fault, api: Api, shared: Namespace): Promise<Answer> {
  const ns = fault.isAlone ? await makeNamespace(undefined, atEnd) : shared;
  await fault.make(ns, atEnd);
  const begun = performance.now();
  const ask = async () => {
    for (;;) {
      const finding = await runWhy(api, fault.subject, ns.name);
      if (finding.code !== "Starting" || performance.now() - begun > PATIENCE_MS) return finding;
      // Half a hundred ask at once, and each makes up to ten requests.
      await sleep(1000);
    }
  };
  const first = await ask();
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  await sleep(3000);
  // A container that crashes runs for a moment in between.
  return { namespace: ns.name, first, second: await ask(), seconds };
}

for (const fault of FAULTS) {
  test.runIf(canBeMade(fault))(`${fault.name}: ${fault.code}`, () => expectFound(fault));
}

async function expectFound(fault: Fault): Promise<void> {
  const answer = await found.get(fault);
  if (!answer) throw new Error(`Cannot judge ${fault.name}: it was not made`);
  const { namespace, first, second, seconds } = answer;
  process.stdout.write(`\n--- ${fault.name}, after ${seconds} s\n${renderFinding(first, { color: false })}`);
  const culprit = fault.culprit.replace("@", namespace);
  const seen = ({ code, object: { kind, name } }: Finding) => [code, `${kind}/${name}`];
  expect({ first: seen(first), second: seen(second) }).toEqual({
    first: [fault.code, culprit],
    second: [fault.code, culprit],
  });
  expect(first.isOk).toBe(fault.code === "Ready");
  expect(first.chain.at(-1)).toEqual(first.object);
}
