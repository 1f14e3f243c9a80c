/** When a Sandbox is looked at again although nothing has happened. @module */
import { expect, test } from "vitest";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";

const CONFIG = { clusterDomain: "cluster.local" };
const look = (spec: object, ...pods: ReturnType<typeof aReadyPod>[]) =>
  syncSandbox(aRequest(aSandbox({ spec }), pods), NOW, CONFIG).resyncAfterSeconds;

test("a Sandbox without its Pod is looked at again in five seconds, or sooner if it expires; with it, or suspended, never", () => {
  expect(look({})).toBe(5);
  expect(look({ shutdownTime: "2026-11-21T12:00:02Z" })).toBe(2);
  expect(look({}, aReadyPod())).toBeUndefined();
  expect(look({ operatingMode: "Suspended" })).toBeUndefined();
});
