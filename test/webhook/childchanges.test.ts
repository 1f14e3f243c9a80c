/** What no answer may do to a child that stays, judged by Metacontroller's own merge. @module */
import { expect, test } from "vitest";
import { guardAnswer, type Verdict } from "../../packages/webhook/guard.ts";
import { CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";
import { unchangedSpec } from "../../packages/webhook/unchanged.ts";
import { aChild, aRequest, aSandbox, NOW } from "../sandboxes.ts";

const judge = (children: KubeObject[], desired: DesiredObject[], reasons: object | "any" = "any"): Verdict =>
  guardAnswer(aRequest(aSandbox(), children) as Observed<unknown>, desired, {}, NOW, reasons as "any");
const answered = (kind: string, spec?: object): DesiredObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "demo" },
  ...(spec ? { spec } : {}),
});

const applied = { containers: [{ name: "main", image: "a" }], hostAliases: [] };
const observed = {
  nodeName: "node-1",
  containers: [{ name: "main", image: "a", imagePullPolicy: "Always" }, { name: "injected", image: "b" }],
};
const twins = { containers: [{ name: "dns", ports: [{ containerPort: 53 }, { containerPort: 53, protocol: "UDP" }] }] };
const pods = [
  { name: "words that leave it alone", applied, observed, will: "unchanged" },
  { name: "silence on what was never applied", observed, will: undefined },
  { name: "words that could not leave it alone", applied: twins, observed: twins, will: "unchanged" },
  { name: "another deadline", applied, observed, will: { ...applied, activeDeadlineSeconds: 1 }, refused: true },
  { name: "the same of a Pod that was adopted", observed, will: { activeDeadlineSeconds: 1 }, refused: true },
  {
    name: "another image",
    applied,
    observed,
    will: { containers: [{ name: "main", image: "c" }] },
    refused: true,
  },
  { name: "one more container", applied, observed, will: { containers: [{ name: "new", image: "a" }] }, refused: true },
  { name: "silence on what was applied", applied, observed, will: undefined, refused: true },
  { name: "no field of what was applied", applied, observed, will: {}, refused: true },
  { name: "another port in the place of two", applied: twins, observed: twins, will: applied, refused: true },
];

test.for(pods)("a live Pod is answered with $name", ({ applied, observed, will, refused }) => {
  const pod = aChild("Pod", { spec: observed, ...(applied ? { lastApplied: { spec: applied } } : {}) });
  const spec = will === "unchanged" ? unchangedSpec(pod).spec as object : will as object | undefined;
  expect(judge([pod], [answered("Pod", spec)])).toEqual(
    refused
      ? {
        refusal: { message: "1 of 1 children are live Pods whose spec would be changed", children: ["Pod/demo"] },
      }
      : { losses: [] },
  );
});

test("a Pod that is terminating, or not a Pod, is no live Pod", () => {
  const dying = aChild("Pod", { spec: observed, metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
  expect(judge([dying], [answered("Pod", { activeDeadlineSeconds: 1 })])).toEqual({ losses: [] });
  const volume = aChild("PersistentVolumeClaim", { spec: { size: 1 } });
  expect(judge([volume], [answered("PersistentVolumeClaim", { size: 2 })])).toEqual({ losses: [] });
});

const hash = { [NAME_HASH_LABEL]: "aefd3536" };
const whole = { ...hash, [CONTROLLER_UID_LABEL]: "uid-demo" };
const services = [
  { name: "stays as it is", is: whole, will: whole },
  { name: "is what it was, and nobody says anything", is: hash, will: undefined },
  { name: "comes to name the UID", is: hash, will: whole },
  { name: "is repaired by key", applied: whole, is: { ...hash, [CONTROLLER_UID_LABEL]: "x" }, will: whole },
  { name: "is repaired after somebody has added a key", is: { ...whole, app: "x" }, will: whole },
  {
    name: "loses a key that is not the parent's",
    applied: { ...whole, app: "x" },
    is: { ...whole, app: "x" },
    will: whole,
  },
  { name: "is made where there was none", is: undefined, will: whole },
  { name: "selects something else", applied: whole, is: whole, will: { app: "x" }, refused: true },
  { name: "asks for more than the Pod has", is: whole, will: { ...whole, app: "x" }, refused: true },
  { name: "names another Sandbox", is: hash, will: { [NAME_HASH_LABEL]: "00000000" }, refused: true },
  { name: "names another UID", is: hash, will: { ...hash, [CONTROLLER_UID_LABEL]: "x" }, refused: true },
  { name: "names the UID no longer", applied: whole, is: whole, will: hash, refused: true },
  { name: "is taken away", applied: whole, is: whole, will: undefined, refused: true },
];

test.for(services)("a Service's selector $name", ({ applied, is, will, refused }) => {
  const selecting = (selector: object | undefined) => ({ clusterIP: "None", ...(selector ? { selector } : {}) });
  const service = aChild("Service", {
    spec: selecting(is),
    ...(applied ? { lastApplied: { spec: selecting(applied) } } : {}),
  });
  const message = "1 of 1 children are Services whose spec.selector would no longer select what is the parent's";
  expect(judge([service], [answered("Service", selecting(will))])).toEqual(
    refused ? { refusal: { message, children: ["Service/demo"] } } : { losses: [] },
  );
});

test.for([
  { is: "Retain", will: "Delete", refused: true },
  { is: undefined, will: "Delete", refused: true },
  { is: "Delete", will: "Delete" },
  { is: "Delete", will: "Retain" },
  { is: "Retain", will: undefined },
])("a shutdownPolicy of $is becomes $will", ({ is, will, refused }) => {
  const policy = (shutdownPolicy: string | undefined) => (shutdownPolicy ? { shutdownPolicy } : {});
  const child = aChild("Service", { spec: policy(is) });
  expect(judge([child], [answered("Service", policy(will))], {})).toEqual(
    refused
      ? {
        refusal: {
          message: "1 of 1 children would be suspended, expire, or be deleted when they expire",
          children: ["Service/demo"],
        },
      }
      : { losses: [] },
  );
  const losses = refused ? [{ child, what: "expiring" }] : [];
  expect(judge([child], [answered("Service", policy(will))]), "for any words").toEqual({ losses });
});
