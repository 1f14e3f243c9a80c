/** Everything that a watch shows of the claims of a namespace, from their creation to the end of the test. @module */
import { onTestFinished } from "vitest";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import { sleep } from "../../packages/kube/backoff.ts";
import { FINAL_REASONS } from "../finalreasons.ts";
import { bareness } from "../watchedclaims.ts";
import { condition, type Loose, type Namespace } from "./namespace.ts";

/** What a watch has shown so far. */
export interface History {
  /** Versions of each claim, by name, in order. */
  versions: Map<string, Loose[]>;
  /** Names of claims that are Ready in their last version. */
  ready(): string[];
  /** Milliseconds from when the watch showed a claim first until it showed it Ready; those that never were are not there. */
  waits(): number[];
}

/**
 * Follows the claims of a namespace until the test ends: all that becomes of them once this has returned. A watch that
 * cannot go on begins with a list again.
 */
export async function followClaims(ns: Namespace): Promise<History> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const api = connect(await kubeconfigCredentials(ns.cluster.kubeconfig), {
    signal: stop.signal,
    userAgent: "hookbox-test",
  });
  const path = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${ns.name}/sandboxclaims`;
  const versions = new Map<string, Loose[]>();
  const seen = new Map<string, { at: number; waited?: number }>();
  const note = (claim: Loose) => {
    const { name } = claim.metadata;
    const before = versions.get(name) ?? [];
    const first = seen.get(name) ?? { at: performance.now() };
    seen.set(name, first);
    if (isReady(claim)) first.waited ??= performance.now() - first.at;
    if (before.at(-1)?.metadata.resourceVersion !== claim.metadata.resourceVersion) {
      versions.set(name, [...before, claim]);
    }
  };
  const list = async (): Promise<string> => {
    const { body } = await api.send({ method: "GET", path }) as Loose;
    body.items.forEach(note);
    return body.metadata.resourceVersion;
  };
  const watchFrom = async (version: string) => {
    while (!stop.signal.aborted) {
      const { events } = await api.watch(path, { resourceVersion: version, timeoutSeconds: "600" });
      for await (const { type, object } of events as AsyncIterable<Loose>) {
        if (type === "ERROR") throw new Error(object.message);
        version = object.metadata.resourceVersion;
        if (type !== "DELETED") note(object);
      }
      await sleep(100, stop.signal);
    }
  };
  const keepWatching = async (version: string) => {
    await watchFrom(version).catch(() => {});
    while (!stop.signal.aborted) {
      await sleep(100, stop.signal);
      await list().then(watchFrom).catch(() => {});
    }
  };
  void keepWatching(await list());
  return {
    versions,
    ready: () => [...versions].filter(([, history]) => isReady(history.at(-1))).map(([name]) => name),
    waits: () => [...seen.values()].flatMap(({ waited }) => waited ?? []),
  };
}

function isReady(claim: Loose): boolean {
  return condition(claim, "Ready")?.status === "True";
}

/** Lists what clients of the contract must never see in the lives of claims that became Ready, as text. */
export function faultsOf({ versions }: History): string[] {
  return [...versions].flatMap(([name, history]) => {
    const reasons = history.map((claim) => condition(claim, "Ready")).filter((ready) =>
      FINAL_REASONS.has(ready?.reason)
    );
    const shown = history.map((claim) => claim.status?.sandbox?.name).filter(Boolean);
    const incomplete = history.filter((claim) => {
      const { sandbox } = claim.status ?? {};
      return isReady(claim) && !(sandbox?.name && sandbox.podIPs?.length > 0);
    });
    return [
      ...reasons.map(({ reason, message }) => `${name}: ${reason}: ${message}`),
      ...(new Set(shown).size > 1 ? [`${name}: showed ${[...new Set(shown)].join(", ")}`] : []),
      ...incomplete.map(() => `${name}: Ready without name and addresses`),
      ...history.flatMap((claim) => bareness(claim) ?? []),
    ];
  });
}
