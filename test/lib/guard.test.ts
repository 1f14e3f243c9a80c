/** @module */
import { expect, test } from "vitest";
import { guardAnswer } from "../../lib/guard.ts";
import { aChild, mapOf } from "../sandboxes.ts";

const pod = (name: string, metadata: object = {}) => aChild("Pod", { metadata: { name, ...metadata } });
const pvc = aChild("PersistentVolumeClaim", { metadata: { name: "data" } });
const ten = Array.from({ length: 10 }, (_, index) => pod(`p${index}`));
const wanted = (...names: string[]) => names.map((name) => ({ apiVersion: "v1", kind: "Pod", metadata: { name } }));

test("a volume that is left out is refused, however large the share", () => {
  const refusal = guardAnswer(mapOf([pvc, ...ten]), wanted(...ten.map((p) => p.metadata.name)), {}, 1);
  expect(refusal).toMatchObject({ children: ["PersistentVolumeClaim/data"] });
});

test("a volume that is left out for a named reason passes", () => {
  expect(guardAnswer(mapOf([pvc]), [], { "PersistentVolumeClaim/data": "asked for" }, 0)).toBeUndefined();
});

test("an answer without children is refused, and names them all", () => {
  expect(guardAnswer(mapOf(ten), [], {}, 0.1)).toMatchObject({ children: ten.map((p) => `Pod/${p.metadata.name}`) });
});

test("up to the share passes without a reason, one more does not", () => {
  const nine = wanted(...ten.slice(1).map((p) => p.metadata.name));
  expect(guardAnswer(mapOf(ten), nine, {}, 0.1)).toBeUndefined();
  expect(guardAnswer(mapOf(ten), nine.slice(1), {}, 0.1)).toMatchObject({ children: ["Pod/p0", "Pod/p1"] });
  expect(guardAnswer(mapOf(ten), nine.slice(1), { "Pod/p0": "stale" }, 0.1)).toBeUndefined();
});

test("what is terminating already needs no reason", () => {
  const dying = pod("a", { deletionTimestamp: "2026-11-21T12:00:00Z" });
  expect(guardAnswer(mapOf([dying]), [], {}, 0)).toBeUndefined();
  const many = Array.from({ length: 30 }, (_, i) => pod(`d${i}`, { deletionTimestamp: "2026-11-21T12:00:00Z" }));
  const eight = wanted(...ten.slice(2).map((p) => p.metadata.name));
  expect(guardAnswer(mapOf([...ten, ...many]), eight, {}, 0.1), "nor does it make room for others").toMatchObject({
    message: "2 of 10 children would be deleted without a reason",
    children: ["Pod/p0", "Pod/p1"],
  });
});

test("a kind without a child rule is a broken controller or a broken hook", () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
  expect(() => guardAnswer(mapOf([]), [secret], {}, 0)).toThrow("Cannot answer with a Secret.v1");
});

test("two children of one name are a broken hook", () => {
  expect(() => guardAnswer(mapOf([]), wanted("a", "a"), {}, 0)).toThrow("Cannot answer with two children Pod/a");
});
