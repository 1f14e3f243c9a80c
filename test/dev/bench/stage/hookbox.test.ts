/** @module */
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { divideControllers } from "../../../../dev/bench/stage/hookbox.ts";
import { renderManifests } from "../../../../packages/manifests/render.ts";

interface Manifest {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: { parentResource?: { labelSelector?: { matchExpressions: { operator: string }[] } } };
}

const controllers = (engines: Parameters<typeof divideControllers>[1]) =>
  parseAllDocuments(divideControllers(renderManifests("http://hooks"), engines))
    .map((document) => document.toJS() as Manifest)
    .filter(({ kind }) => kind.endsWith("Controller"))
    .map(({ metadata, spec }) => [
      metadata.name,
      metadata.labels?.["bench.hookbox/engine"],
      spec.parentResource?.labelSelector?.matchExpressions[0]?.operator,
    ]);

test("sharedOut() does not change the controllers of a single Metacontroller", () => {
  expect(divideControllers("text", "one")).toBe("text");
});

test("sharedOut() gives pools a Metacontroller of their own", () => {
  expect(controllers("by-controller")).toEqual([
    ["sandbox", "a", undefined],
    ["sandboxwarmpool", "b", undefined],
    ["sandboxclaim", "a", undefined],
    ["sandboxtemplate", "a", undefined],
  ]);
});

test("sharedOut() gives every Sandbox and every pool to exactly one Metacontroller", () => {
  expect(controllers("by-shard")).toEqual([
    ["sandbox", "a", "NotIn"],
    ["sandbox-b", "b", "In"],
    ["sandboxwarmpool", "a", "NotIn"],
    ["sandboxwarmpool-b", "b", "In"],
    ["sandboxclaim", "a", undefined],
    ["sandboxtemplate", "a", undefined],
  ]);
});
