/** PodOutdated: a Pod that was made from another spec than the Sandbox has now says so, until it is made anew. @module */
import { describe, expect, test } from "vitest";
import { buildPod, keepPod, specHash } from "../../../hooks/sandbox/pod.ts";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { findCondition } from "../../../packages/api/objects/conditions.ts";
import { RESIZED_ANNOTATION } from "../../../packages/api/objects/keys.ts";
import { podSchema } from "../../../packages/api/objects/pods.ts";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const HASH = "agents.x-k8s.io/pod-spec-hash";
const volume = (name: string) => ({ volumeClaimTemplates: [{ metadata: { name }, spec: {} }] });
const withImage = (image: string, more: object = {}) =>
  aSandbox({ spec: { podTemplate: { spec: { containers: [{ name: "main", image }] } }, ...more } });

/** The Pod that the hook makes of a Sandbox, as it runs. */
function podOf(sandbox: Sandbox, annotations: Record<string, string> = {}) {
  const { metadata } = buildPod(sandbox);
  return aReadyPod({ metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } });
}

const outdated = (sandbox: Sandbox, pod: ReturnType<typeof aReadyPod>) =>
  findCondition(
    syncSandbox(aRequest(sandbox, [pod]), NOW, { clusterDomain: "cluster.local" }).status?.conditions,
    "PodOutdated",
  );

describe("PodOutdated", () => {
  test("is absent while the spec is the one that the Pod was made from, in whatever order of keys", () => {
    const reordered = aSandbox({ spec: { podTemplate: { spec: { containers: [{ image: "a", name: "main" }] } } } });
    expect(outdated(withImage("a"), podOf(withImage("a")))).toBeUndefined();
    expect(outdated(reordered, podOf(withImage("a")))).toBeUndefined();
  });

  test.for(
    [
      ["another image", withImage("b")],
      ["another volume", withImage("a", volume("data"))],
    ] as const,
  )("is True with %s", ([, sandbox]) => {
    expect(outdated(sandbox, podOf(withImage("a")))).toMatchObject({ status: "True", reason: "SpecChanged" });
  });

  test("is absent of a Pod that was resized for a claim, and counts each other change", () => {
    const sized = (cpu: string, image = "a", more: object = {}) =>
      aSandbox({
        spec: { podTemplate: { spec: { containers: [{ name: "main", image, resources: { limits: { cpu } } }] } } },
        ...more,
      });
    const pod = podOf(sized("1"));
    const metadata = { annotations: { [RESIZED_ANNOTATION]: `${specHash(sized("1"))} ${specHash(sized("2"))}` } };
    expect(outdated(sized("2"), pod)).toMatchObject({ status: "True" });
    expect(outdated(sized("2", "a", { metadata }), pod)).toBeUndefined();
    for (const other of [sized("3", "a", { metadata }), sized("2", "b", { metadata })]) {
      expect(outdated(other, pod)).toMatchObject({ status: "True" });
      expect(outdated(other, podOf(other))).toBeUndefined();
    }
    expect(outdated(sized("2", "a", { metadata }), podOf(sized("2")))).toBeUndefined();
    expect(outdated(sized("2", "a", { metadata }), podOf(sized("1", "b")))).toMatchObject({ status: "True" });
  });

  test("labels and annotations reach a live Pod, and leave it as it was", () => {
    const podTemplate = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "main", image: "a" }] } };
    expect(outdated(aSandbox({ spec: { podTemplate } }), podOf(withImage("a")))).toBeUndefined();
  });

  test("is absent of a Pod that does not say what it was made from, and of a suspended Sandbox", () => {
    expect(outdated(withImage("b"), aReadyPod())).toBeUndefined();
    expect(outdated(withImage("b", { operatingMode: "Suspended" }), podOf(withImage("a")))).toBeUndefined();
  });

  test("the Pod keeps saying what it was made from, and goes on without where somebody took that away", () => {
    const pod = podSchema.parse(podOf(withImage("a")));
    expect(keepPod(withImage("b"), pod).metadata.annotations?.[HASH]).toBe(
      buildPod(withImage("a")).metadata.annotations?.[HASH],
    );
    expect(keepPod(withImage("b"), podSchema.parse(aReadyPod())).metadata.annotations ?? {}).not.toHaveProperty(HASH);
  });
});
