/** @module */
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import {
  buildSimulatedNode,
  nodeAndPodStages,
  PODS_PER_NODE,
  renderKwokConfig,
  SIMULATED_PROVISIONER,
  volumeStages,
} from "../../../dev/cluster/kwok.ts";

const NOW = new Date("2026-01-02T03:04:05.678Z");

test("renderKwokConfig() manages annotated Nodes only and holds all stages", () => {
  const text = renderKwokConfig([...nodeAndPodStages(), ...volumeStages("standard")]);
  const [configuration, ...stages] = parseAllDocuments(text).map((document) => document.toJS());
  expect(configuration.options).toMatchObject({
    manageAllNodes: false,
    manageNodesWithAnnotationSelector: "kwok.x-k8s.io/node=fake",
  });
  const names = ["node-ready", "pod-running", "pod-succeeded", "pod-deleted", "claim-provisioned", "volume-deleted"];
  expect(stages.map((stage) => stage.metadata.name)).toEqual(names);
});

test("volumeStages() act on one class and name the provisioner, so that kube-controller-manager leaves volumes alone", () => {
  const text = renderKwokConfig(volumeStages("gold"));
  const [, claim, volume] = parseAllDocuments(text).map((document) => document.toJS());
  const ofClass = { key: ".spec.storageClassName", operator: "In", values: ["gold"] };
  expect(claim.spec.selector.matchExpressions).toContainEqual(ofClass);
  expect(volume.spec.selector.matchExpressions).toContainEqual(ofClass);
  expect(claim.spec.steps[0].apply.template).toContain(`provisioned-by: ${SIMULATED_PROVISIONER}\n`);
  expect(claim.spec.steps[0].apply.template).toContain("storageClassName: gold\n");
});

test("buildSimulatedNode() is Ready, takes Pods, and is one of KWOK's", () => {
  expect(buildSimulatedNode(3, false, NOW)).toMatchObject({
    metadata: { name: "simulated-3", annotations: { "kwok.x-k8s.io/node": "fake" }, labels: { type: "kwok" } },
    spec: {},
    status: {
      allocatable: { pods: String(PODS_PER_NODE) },
      conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-02T03:04:05Z" }],
    },
  });
});

test("buildSimulatedNode() keeps ordinary Pods away where there is a real node", () => {
  expect(buildSimulatedNode(0, true, NOW)).toMatchObject({
    spec: { taints: [{ key: "kwok.x-k8s.io/node", value: "fake", effect: "NoSchedule" }] },
  });
});
