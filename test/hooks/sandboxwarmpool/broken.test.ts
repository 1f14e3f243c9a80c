/** Members whose last-applied annotation nobody can read: one of them spoils itself, and not its pool. @module */
import { expect, test } from "vitest";
import { isHandable } from "../../../hooks/sandboxwarmpool/applied.ts";
import { syncPool } from "../../poolcalls.ts";
import { aMember, aPool, COUNTED } from "../../pools.ts";

const LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration";

test.for([
  ["no JSON", "{"],
  ["no object", "[]"],
  ["no metadata", "{}"],
  ["owners that are no list", '{"metadata":{"ownerReferences":{}}}'],
  ["an owner that is no object", '{"metadata":{"ownerReferences":[null]}}'],
  ["labels that are no map", '{"metadata":{"labels":1}}'],
  ["a spec that is none", '{"metadata":{},"spec":"x"}'],
  ["the end of its life", '{"metadata":{},"spec":{"shutdownTime":"2026-11-21T12:00:00Z"}}'],
  ["that it is deleted at its end", '{"metadata":{},"spec":{"shutdownPolicy":"Delete"}}'],
  ["a mode of its own", '{"metadata":{},"spec":{"operatingMode":"Suspended"}}'],
  ["a template that is none", '{"metadata":{},"spec":{"podTemplate":[]}}'],
])("a member whose last-applied annotation has %s goes, and the others stay as they are", ([, text]) => {
  const broken = aMember(2);
  broken.metadata.annotations = { ...broken.metadata.annotations, [LAST_APPLIED]: text ?? "" };
  const sandboxes = [aMember(1), broken, aMember(3)];
  const answer = syncPool({ pool: aPool({ status: COUNTED }), sandboxes });
  expect(answer.deletions).toEqual({ "Sandbox/warm-2": "nobody can read its last-applied annotation" });
  expect(answer.children.map(({ metadata }) => metadata.name)).toEqual(["warm-1", "warm-3"]);
  expect(answer.status).toMatchObject({ replicas: 2 });
  expect(isHandable(broken)).toBe(false);
  const dying = aPool({ metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
  expect(syncPool({ pool: dying, sandboxes }).children, "of a pool that goes").toHaveLength(3);
});
