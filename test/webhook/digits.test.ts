/** Integers of 64 bits keep all digits in hooks, conversion and binding: users do set the largest ones. @module */
import { expect, test } from "vitest";
import { createConversionApp } from "../../hooks/conversion/app.ts";
import { sandboxHook } from "../../hooks/sandbox/hook.ts";
import { sandboxWarmPoolHook } from "../../hooks/sandboxwarmpool/hook.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { applyCreate } from "../../packages/api/objects/apply.ts";
import { parseJson } from "../../packages/api/objects/json.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import { readBody, replyOf } from "../../packages/webhook/reply.ts";
import { aPoolRequest, CONFIG as POOL_CONFIG } from "../poolcalls.ts";
import { aClaim, aMember } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const LARGEST = "9223372036854775807";
const ODD = "9007199254740993";
const SPEC = `{"containers":[{"image":"busybox","name":"main"}],"terminationGracePeriodSeconds":${LARGEST},` +
  `"tolerations":[{"key":"a","operator":"Exists","tolerationSeconds":${ODD}}]}`;
const META = `"name":"demo","namespace":"team-a","uid":"uid-demo","generation":1`;
const SANDBOX = `{"apiVersion":"agents.x-k8s.io/v1beta1","kind":"Sandbox","metadata":{${META}},` +
  `"spec":{"operatingMode":"Running","shutdownPolicy":"Retain","podTemplate":{"spec":${SPEC}}}}`;

test("the hook for Sandboxes makes a Pod with all digits, and leaves one alone that has them", () => {
  const request = (pods: string) =>
    `{"parent":${SANDBOX},"children":{"Pod.v1":{${pods}},"Service.v1":{},"PersistentVolumeClaim.v1":{}},` +
    `"related":{},"finalizing":false}`;
  const ask = (pods: string) =>
    replyOf(sandboxHook({ clusterDomain: "cluster.local" }), "sync", readBody(request(pods)), NOW);
  const first = ask("");
  expect([first.status, first.text]).toEqual([
    200,
    expect.stringContaining(`"terminationGracePeriodSeconds":${LARGEST}`),
  ]);
  expect(first.text).toContain(`"tolerationSeconds":${ODD}`);
  const podOf = (text: string) => (parseJson(text) as { children: { metadata: object; spec: object }[] }).children[0];
  const pod = podOf(first.text);
  const stored = applyCreate({ ...pod, metadata: { ...pod?.metadata, uid: "u", namespace: "team-a" } }, pod);
  const kept = ask(`"team-a/demo":${JSON.stringify(stored)}`);
  expect([kept.status, kept.text]).toEqual([200, expect.stringContaining(`"tolerationSeconds":${ODD}`)]);
  // As it was last applied: Metacontroller finds nothing to do.
  expect(podOf(kept.text)?.spec).toEqual(pod?.spec);
});

test.for(["status", "metadata.labels", "metadata.annotations", "spec.podTemplate.metadata"])(
  "a request whose %s is such an integer is none, like one with any other number there",
  (path) => {
    const hook = sandboxHook({ clusterDomain: "cluster.local" });
    const answers = [7, LARGEST].map((number) => {
      const parent = JSON.parse(SANDBOX);
      const fields = path.split(".");
      const last = fields.pop() ?? "";
      fields.reduce((holder, field) => holder[field], parent)[last] = parseJson(`${number}`);
      const children = { "Pod.v1": {}, "Service.v1": {}, "PersistentVolumeClaim.v1": {} };
      const body = readBody(JSON.stringify({ parent, children, related: {}, finalizing: false }));
      const { status, text } = replyOf(hook, "sync", body, NOW);
      return { status, text };
    });
    expect(answers[0]).toMatchObject({ status: 400, text: expect.stringContaining(path) });
    expect(answers[1]).toEqual(answers[0]);
  },
);

test("the hook for pools, and the binder when it hands a member over", () => {
  const template = { ...aTemplate(), spec: { ...aTemplate().spec, podTemplate: { spec: parseJson(SPEC) } } } as never;
  const reply = replyOf(
    sandboxWarmPoolHook(POOL_CONFIG),
    "sync",
    readBody(JSON.stringify(aPoolRequest({ template }))),
    NOW,
  );
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining(`"tolerationSeconds":${ODD}`)]);
  const member = aMember(1);
  const large = applyCreate({ ...member, spec: { ...member.spec, podTemplate: { spec: parseJson(SPEC) } } }) as Sandbox;
  const given = JSON.stringify(boundMember(large, aClaim("c"), template, NOW));
  expect(given).toContain(`"terminationGracePeriodSeconds":${LARGEST}`);
});

/** Asks the conversion hook for an object in another version; returns its answer. */
async function converted(apiVersion: string, object: string): Promise<string> {
  const app = createConversionApp({ log: () => {}, ready: () => true });
  const body = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",` +
    `"desiredAPIVersion":"${apiVersion}","objects":[${object}]}}`;
  return (await app.request("/convert", { method: "POST", body })).text();
}

test.for(["v1alpha1", "v1beta1"])("a conversion to %s", async (version) => {
  const from = version === "v1beta1" ? "v1alpha1" : "v1beta1";
  const object = SANDBOX.replace("agents.x-k8s.io/v1beta1", `agents.x-k8s.io/${from}`);
  const text = await converted(`agents.x-k8s.io/${version}`, object);
  expect(text).toContain(`"terminationGracePeriodSeconds":${LARGEST}`);
  expect(text).toContain(`"tolerationSeconds":${ODD}`);
});

test("what v1alpha1 has only in an annotation", async () => {
  const group = "extensions.agents.x-k8s.io";
  const volumes = `[{"metadata":{"name":"data"},"spec":{"resources":{"requests":{"storage":${ODD}}}}}]`;
  const claim = `{"apiVersion":"${group}/v1beta1","kind":"SandboxClaim","metadata":{"name":"c","namespace":"team-a"},` +
    `"spec":{"warmPoolRef":{"name":"warm"},"volumeClaimTemplates":${volumes}}}`;
  const objectOf = (text: string) =>
    JSON.stringify((parseJson(text) as { response: { convertedObjects: object[] } }).response.convertedObjects[0]);
  const alpha = objectOf(await converted(`${group}/v1alpha1`, claim));
  expect(JSON.parse(alpha).spec).not.toHaveProperty("volumeClaimTemplates");
  expect(objectOf(await converted(`${group}/v1beta1`, alpha))).toContain(`"volumeClaimTemplates":${volumes}`);
});
