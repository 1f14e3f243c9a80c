/** Which claims E2B's clients see as sandboxes, by the state of each. @module */
import { Sandbox } from "e2b";
import { expect, test } from "vitest";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { sandboxesOver, startE2B } from "./api.ts";

const EVERYTHING = {
  ...{ metadata: {}, states: new Set(["running", "paused"] as const), startedAfter: undefined, template: undefined },
  ...{ order: "desc" as const, limit: 100, after: undefined },
};

test("a sandbox that is not Ready for a moment is listed, and one that has no Sandbox yet is not", async () => {
  const { options, cluster, api } = await startE2B();
  const { sandboxId } = await Sandbox.create("base", options);
  const claim = await cluster.get("SandboxClaim", sandboxId, "team-a") as SandboxClaim;
  const unready = [{ type: "Ready", status: "False", reason: "SandboxNotReady", message: "", lastTransitionTime: "" }];
  const listed = async (status: object | undefined) => {
    const answer = { status: 200, body: { metadata: {}, items: [{ ...claim, status }] } };
    const sandboxes = sandboxesOver({ ...api, send: () => Promise.resolve(answer) });
    const { page, running } = await sandboxes.list("team-a", EVERYTHING);
    return [page.map(({ id }) => id), running];
  };
  expect(await listed(claim.status)).toEqual([[sandboxId], 1]);
  expect(await listed({ ...claim.status, conditions: unready })).toEqual([[sandboxId], 1]);
  expect(await listed({ conditions: unready })).toEqual([[], 0]);
  expect(await listed(undefined)).toEqual([[], 0]);
});
