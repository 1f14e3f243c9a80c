/** A Pod of another controller: two updates, and what that controller managed and nobody wants is gone. @module */
import { expect, test } from "vitest";
import { keepPod } from "../../../hooks/sandbox/pod.ts";
import { applyUpdate, sameJson } from "../../../packages/api/objects/apply.ts";
import { podSchema } from "../../../packages/api/objects/pods.ts";
import { aReadyPod, aSandbox } from "../../sandboxes.ts";

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
