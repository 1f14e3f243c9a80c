/** packages/api/objects/apply.ts merges children as Metacontroller did: see dev/metacontroller/record. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mergeCases } from "../../../dev/metacontroller/record/mergecases.ts";
import { readMerges, writeMerges } from "../../../dev/metacontroller/record/mergefile.ts";
import { mergeOf } from "../../../dev/metacontroller/record/merges.ts";
import { canonicalJson, LAST_APPLIED_ANNOTATION } from "../../../packages/api/objects/apply.ts";

const text = readFileSync(new URL("transcripts/merges.jsonl", import.meta.url), "utf8");
const { header, merges } = readMerges(text);

test("every recorded child becomes what Metacontroller made of it, byte for byte", () => {
  const differing = merges.filter((merge) => {
    const ours = mergeOf(merge);
    return (ours && canonicalJson(ours)) !== (merge.written && canonicalJson(merge.written));
  });
  expect(differing).toEqual([]);
});

test("the recorded children are many, some of which were left alone, some broken, some without an annotation", () => {
  const alone = merges.filter(({ written }) => !written);
  const noted = merges.map(({ observed }) => observed.metadata.annotations?.[LAST_APPLIED_ANNOTATION]);
  expect(merges.length).toBeGreaterThanOrEqual(1700);
  expect(alone.length).toBeGreaterThan(50);
  expect(noted.filter((last) => last === undefined).length).toBeGreaterThan(50);
  expect(noted.filter((last) => last === "{" || last === "[]").length).toBeGreaterThan(3);
});

test("writeMerges() and readMerges() lose nothing", () => {
  expect(readMerges(writeMerges(header, merges))).toStrictEqual({ header, merges });
});

test("mergeCases() makes the same cases from the same seed", () => {
  const place = () => ({ apiVersion: "v1", kind: "Case", metadata: { name: "x" } });
  expect(mergeCases(50, 7, place)).toEqual(mergeCases(50, 7, place));
  expect(mergeCases(50, 7, place)).not.toEqual(mergeCases(50, 8, place));
});
