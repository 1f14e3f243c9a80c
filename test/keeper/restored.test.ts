/** The keeper trusts lists: a restore of etcd may have undone what the keeper did. @module */
import { afterEach, beforeEach, expect, test } from "vitest";
import { begin, end, keep, keeper, pass, server } from "./stage.ts";
import { putSandbox, SANDBOX } from "./keeping.ts";
import { NOW } from "../sandboxes.ts";

const EXPIRED: [string, string, string] = ["False", "SandboxExpired", "Sandbox has expired"];
const SPEC = { spec: { shutdownPolicy: "Delete", shutdownTime: NOW.toISOString() } };

beforeEach(begin);
afterEach(end);

test("what it has deleted, and a list shows in the very same version, is deleted again", async () => {
  putSandbox(server, EXPIRED, SPEC);
  // Carried out, and then forgotten by etcd.
  server.intercept = ({ method }) => method === "DELETE" ? { status: 200, body: {} } : undefined;
  await keep(60);
  expect(keeper.actions).toEqual(["deleted"]);
  server.intercept = () => undefined;
  server.endWatches(new Error("connection reset"));
  await pass(60);
  expect(server.get(SANDBOX)).toBeUndefined();
  expect(keeper.actions).toEqual(["deleted", "deleted"]);
});
