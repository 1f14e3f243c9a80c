/** How large objects may be: the documented limits hold, and a refusal because of size names them. @module */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { buildPod } from "../../../hooks/sandbox/pod.ts";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import { creationRefused } from "../../../packages/api/claims/problem.ts";
import { applyCreate } from "../../../packages/api/objects/apply.ts";
import { tooLarge, withLimit } from "../../../packages/api/objects/size.ts";
import { boundMember, coldSandbox } from "../../../packages/binder/boundsandbox.ts";
import { dryRunVerdict } from "../../../packages/keeper/diagnose.ts";
import { aClaim, aMember, aPool } from "../../pools.ts";
import { aSandbox, NOW } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";

/** Bytes of all annotations of an object, as the API server counts them. */
function annotationBytes({ metadata }: { metadata: { annotations?: Record<string, string> | undefined } }): number {
  return Object.entries(metadata.annotations ?? {}).flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

const MOST = 262_144;
const KIB = 1024;
const note = (kib: number) => ({ annotations: { "example.com/note": "x".repeat(kib * KIB) } });
const box = (podTemplate: object) =>
  annotationBytes(applyCreate(buildPod(aSandbox({ spec: { podTemplate } }) as Sandbox)) as never);
const containers = (kib: number) => [{ name: "main", image: "busybox", args: ["x".repeat(kib * KIB)] }];

test("a Pod may have 125 KiB of annotations, or a spec of 250 KiB, and hardly more", () => {
  expect(box({ metadata: note(125), spec: { containers: containers(0) } })).toBeLessThan(MOST);
  expect(box({ metadata: note(129), spec: { containers: containers(0) } })).toBeGreaterThan(MOST);
  expect(box({ spec: { containers: containers(250) } })).toBeLessThan(MOST);
  expect(box({ spec: { containers: containers(257) } })).toBeGreaterThan(MOST);
});

test("a claim may add 80 KiB to its Pod's, warm or cold", () => {
  const claim = aClaim("c", { spec: { additionalPodMetadata: note(80) } });
  expect(annotationBytes(boundMember(aMember(1), claim, aTemplate(), NOW))).toBeLessThan(MOST);
  expect(annotationBytes(coldSandbox(claim, { pool: aPool(), template: aTemplate() }, NOW) as never)).toBeLessThan(
    MOST,
  );
});

test("a refusal for size says what the limits are; others are left as they are", () => {
  const words = 'Pod "demo" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes';
  const body = { message: words };
  expect(dryRunVerdict({ kind: "Pod", name: "demo" }, { status: 422, body })).toMatchObject({
    ...{ state: "invalid", message: expect.stringContaining("125 KiB") },
  });
  expect(creationRefused(words).message).toContain("what a claim adds to them 80 KiB");
  expect(withLimit("exceeded quota: q")).toBe("exceeded quota: q");
  expect([tooLarge("it", containers(1)), tooLarge("It", containers(300))]).toEqual([
    ...[undefined, expect.stringMatching(/^It has 300 KiB\. .*250 KiB/)],
  ]);
});
