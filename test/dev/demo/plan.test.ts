/** What the demo would create on a cluster that exists, what it leaves alone, and where it refuses to run. @module */
import { expect, test } from "vitest";
import { type Found, planOf } from "../../../dev/demo/plan.ts";
import { createPullCheck, pullProblemOf, reasonsOf, type WaitingPod } from "../../../dev/demo/pods.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { bundleObjects, renderBundle } from "../../../packages/cli/install/bundle.ts";

const hookbox = bundleObjects(renderBundle({ namespace: "hookbox-system", processes: true, image: "h:1" }));
const of = (...kinds: string[]) => hookbox.filter(({ kind }) => kinds.includes(kind));
const CRDS = of("CustomResourceDefinition");
const CONTROLLERS = of("CompositeController", "DecoratorController");
const V1BETA1 = new Map(CRDS.map(({ metadata: { name } }) => [name, ["v1beta1"]]));

const EMPTY: Found = {
  version: "v1.36.0",
  minor: 36,
  hasMetacontroller: false,
  hookbox: [],
  served: new Map(),
  otherController: undefined,
  objects: 0,
  hasNamespace: false,
  hasNodes: true,
  hasDefaultStorage: true,
};
const plan = (found: Partial<Found>) =>
  planOf({ ...EMPTY, ...found }, { context: "kind-kind", namespace: "hookbox-demo", hookbox });

test("an empty cluster gets Metacontroller and all of hookbox", () => {
  expect(CONTROLLERS).toHaveLength(4);
  expect(plan({})).toEqual({ installsMetacontroller: true, creates: hookbox, uses: [] });
});

test("Metacontroller that is there is used", () => {
  const { installsMetacontroller, creates, uses } = plan({ hasMetacontroller: true });
  expect(installsMetacontroller).toBe(false);
  expect(creates).toEqual(hookbox);
  expect(uses).toEqual([expect.stringContaining("Metacontroller is installed already")]);
});

test("CRDs and namespaces that an installation has left are used, so they are not created and not removed", () => {
  const left = of("Namespace", "CustomResourceDefinition");
  const { creates, uses } = plan({ hookbox: left, served: V1BETA1 });
  expect(creates).toEqual(hookbox.filter((object) => !left.includes(object)));
  expect(uses).toEqual([expect.stringContaining("4 CRDs of hookbox are installed already")]);
});

test.for([
  { name: "all of it", found: hookbox },
  { name: "only CRDs and controllers, because its processes run elsewhere", found: [...CRDS, ...CONTROLLERS] },
])("an installation is used, and nothing of it is created: $name", ({ found }) => {
  const { installsMetacontroller, creates, uses } = plan({
    hasMetacontroller: true,
    hookbox: found,
    served: V1BETA1,
    objects: 7,
  });
  expect(installsMetacontroller).toBe(false);
  expect(creates).toEqual([]);
  expect(uses).toHaveLength(2);
});

test.for<{ name: string; found: Partial<Found>; why: string }>([
  { name: "an old Kubernetes", found: { version: "v1.29.3", minor: 29 }, why: "Use Kubernetes 1.30 or later" },
  { name: "no node", found: { hasNodes: false }, why: "no node that is Ready" },
  { name: "a namespace of that name", found: { hasNamespace: true }, why: "Choose another name with --namespace" },
  { name: "no storage", found: { hasDefaultStorage: false }, why: "no default StorageClass" },
  { name: "the Go controller", found: { otherController: "a/b" }, why: "Deployment a/b manages its Sandboxes" },
  {
    name: "CRDs of another version only",
    found: { served: new Map([["sandboxes.agents.x-k8s.io", ["v1alpha1"]]]) },
    why: "serves v1alpha1, but not v1beta1",
  },
  {
    name: "half of an installation",
    found: { hookbox: of("ClusterRole"), hasMetacontroller: true },
    why: "hookbox is installed only in part: ClusterRole",
  },
  {
    name: "one controller of four",
    found: { hookbox: CONTROLLERS.slice(0, 1), hasMetacontroller: true },
    why: "hookbox is installed only in part: CompositeController",
  },
  {
    name: "Sandboxes of others, which an installation would begin to manage",
    found: { hookbox: CRDS, served: V1BETA1, objects: 3 },
    why: "it has 3 Sandboxes",
  },
])("it refuses a cluster with $name", ({ found, why }) => {
  expect(() => plan(found)).toThrow(why);
});

const pod = (status: WaitingPod["status"]): WaitingPod => {
  const object: KubeObject = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "n", name: "p" } };
  return { ...object, status: status ?? {} };
};
const waiting = (reason: string, image = "r/h:1") =>
  pod({ containerStatuses: [{ name: "main", image, state: { waiting: { reason, message: "not found" } } }] });

test("pullProblemOf() finds the image that a node cannot pull", () => {
  expect(pullProblemOf([pod({ phase: "Running" }), waiting("CrashLoopBackOff")])).toBeUndefined();
  expect(pullProblemOf([pod({}), waiting("ImagePullBackOff")])).toEqual({
    pod: "n/p",
    image: "r/h:1",
    message: "ImagePullBackOff, not found",
  });
});

test("reasonsOf() has a line for each Pod that waits", () => {
  const unscheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" };
  expect(reasonsOf([pod({ phase: "Running" }), pod({ conditions: [unscheduled] }), waiting("ErrImagePull")])).toEqual([
    "Pod n/p: Unschedulable, 0/1 nodes",
    "Pod n/p: ErrImagePull, not found",
  ]);
});

test("a pull may fail for a while; then the error says what to do", async () => {
  let now = 0;
  let pods = [waiting("ErrImagePull")];
  const check = createPullCheck(() => Promise.resolve(pods), (image) => `Push ${image}.`, () => now);
  await check();
  now = 19_000;
  await check();
  pods = [];
  await check();
  pods = [waiting("ImagePullBackOff")];
  await check();
  now = 38_000;
  await check();
  now = 39_000;
  await expect(check()).rejects.toThrow(
    "Cannot start Pod n/p: its node cannot pull r/h:1 (ImagePullBackOff, not found). Push r/h:1.",
  );
});
