/** What a router writes about a Sandbox that is used. @module */
import { expect, test } from "vitest";
import { recordActivity } from "../../../packages/router/idle/suspend.ts";
import { readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { putSandbox, SANDBOXES } from "../stage.ts";

test("recordActivity() says who has seen the last use, and the first one once, by whichever router", async () => {
  const api = createFakeApi();
  putSandbox(api, "demo", { metadata: { annotations: { "router.agents.x-k8s.io/idle-seconds": "60" } } });
  const seenBy = async (me: string, at: string) => {
    const sandbox = readSandbox(api.get(`${SANDBOXES}/demo`));
    if (!sandbox) throw new Error("there is none");
    await recordActivity({ api, identity: me, index: createSandboxIndex() }, sandbox, new Date(at));
    const { annotations = {} } = api.get(`${SANDBOXES}/demo`)?.metadata ?? {};
    return [annotations["router.agents.x-k8s.io/first-active-at"], annotations["router.agents.x-k8s.io/active-at"]];
  };
  expect(await seenBy("a", "2026-01-01T00:00:00Z")).toEqual(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z a"]);
  expect(await seenBy("b", "2026-01-01T01:00:00Z")).toEqual(["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z b"]);
});

test("recordActivity() takes no first use from a Sandbox that was copied", async () => {
  const api = createFakeApi();
  const annotations = { "router.agents.x-k8s.io/first-active-at": "2026-01-01T00:00:00Z" };
  putSandbox(api, "demo", { metadata: { annotations, creationTimestamp: "2026-01-02T00:00:00Z" } });
  const sandbox = readSandbox(api.get(`${SANDBOXES}/demo`))!;
  await recordActivity({ api, identity: "a", index: createSandboxIndex() }, sandbox, new Date("2026-01-03T00:00:00Z"));
  expect(api.get(`${SANDBOXES}/demo`)?.metadata.annotations).toMatchObject({
    "router.agents.x-k8s.io/first-active-at": "2026-01-03T00:00:00Z",
  });
});
