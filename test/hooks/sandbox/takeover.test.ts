/** A Pod of another controller: two updates, and what that controller managed and nobody wants is gone. @module */
import { describe, expect, test } from "vitest";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { keepPod } from "../../../hooks/sandbox/pod.ts";
import { applyUpdate, sameJson } from "../../../packages/api/objects/apply.ts";
import { podSchema } from "../../../packages/api/objects/pods.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const sandbox = aSandbox({ spec: { podTemplate: { metadata: { labels: { app: "new" } }, spec: { containers: [] } } } });
const inherited = podSchema.parse(aReadyPod({
  metadata: {
    labels: {
      app: "old",
      gone: "1",
      foreign: "1",
      "agents.x-k8s.io/warm-pool-sandbox": "aaaaaaaa",
      "agents.x-k8s.io/sandbox-name-hash": "aefd3536",
    },
    annotations: {
      dropped: "1",
      "cni.example.com/ip": "10.0.0.1",
      "agents.x-k8s.io/propagated-labels": "app,gone",
      "agents.x-k8s.io/propagated-annotations": "dropped",
    },
  },
}));

test("what the former controller had propagated goes, what others have put there stays", () => {
  const first = applyUpdate(inherited, keepPod(sandbox, inherited));
  expect(first.metadata.labels).toMatchObject({ app: "new", gone: "1", foreign: "1" });
  const second = applyUpdate(first, keepPod(sandbox, podSchema.parse(first)));
  expect(second.metadata.labels).toEqual({
    app: "new",
    foreign: "1",
    "agents.x-k8s.io/sandbox-name-hash": "aefd3536",
  });
  expect(second.metadata.annotations).toMatchObject({
    "cni.example.com/ip": "10.0.0.1",
    "agents.x-k8s.io/propagated-labels": "app",
  });
  expect(second.metadata.annotations).not.toHaveProperty("dropped");
  expect(second.metadata.annotations).not.toHaveProperty("agents.x-k8s.io/propagated-annotations");
  expect(second["spec"]).toEqual(inherited.spec);

  const third = applyUpdate(second, keepPod(sandbox, podSchema.parse(second)));
  expect(sameJson(third, second)).toBe(true);
});

describe("a Sandbox whose Pod's name another controller has noted", () => {
  const noting = (name: string) => aSandbox({ metadata: { annotations: { "agents.x-k8s.io/pod-name": name } } });
  const podsOf = (name: string, ...pods: ReturnType<typeof aReadyPod>[]) =>
    syncSandbox(aRequest(noting(name), pods), NOW, { clusterDomain: "cluster.local" })
      .children.filter(({ kind }) => kind === "Pod").map(({ metadata }) => metadata.name);

  test("gets none of its own while that one is not seen: it may run, not labelled yet", () => {
    expect(podsOf("pool-x7k2p")).toEqual([]);
  });

  test("keeps that one", () => {
    expect(podsOf("pool-x7k2p", aReadyPod({ metadata: { name: "pool-x7k2p" } }))).toEqual(["pool-x7k2p"]);
  });

  test.for(["demo", "No Name", "../pods/other", ""])("gets one of its own where the name is %j", (name) => {
    expect(podsOf(name)).toEqual(["demo"]);
  });
});
