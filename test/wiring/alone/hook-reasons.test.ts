/** Each hook is guarded by its own reasons: one that has gone wrong is not believed, whatever words it finds. @module */
import { expect, test, vi } from "vitest";
import { childKey, listAll, type Observed } from "../../../packages/webhook/metacontroller.ts";
import { DEFAULT_SETTINGS, hookNames, makeHooks } from "../../../hooks/all.ts";
import { aClaim, aClaimed, aClaimRequest } from "../../claimbuilders.ts";
import { aPoolRequest } from "../../poolcalls.ts";
import { aMember } from "../../pools.ts";
import { aReadyPod, aRequest, aSandbox, NOW } from "../../sandboxes.ts";
import { aTemplate, aTemplateRequest } from "../../templates.ts";

/** Leaves out all children, composite and decorator alike. */
const wrong = vi.hoisted(() => ({ sync: vi.fn() }));
vi.mock("../../../hooks/sandbox/sync.ts", () => ({ syncSandbox: wrong.sync }));
vi.mock("../../../hooks/sandboxclaim/sync.ts", () => ({ syncSandboxClaim: wrong.sync }));
vi.mock(import("../../../hooks/sandboxtemplate/sync.ts"), async (original) => ({
  ...await original(),
  syncSandboxTemplate: wrong.sync,
}));
vi.mock("../../../hooks/sandboxwarmpool/sync.ts", () => ({ syncSandboxWarmPool: wrong.sync }));
wrong.sync.mockImplementation(({ children }: Observed<unknown>) => ({
  status: {},
  children: [],
  attachments: [],
  deletions: Object.fromEntries(listAll(children).map((child) => [childKey(child), "it seemed right"])),
}));

const policy = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "python-network-policy", namespace: "team-a", uid: "uid-policy" },
};
const REQUESTS: Record<string, unknown> = {
  sandbox: aRequest(aSandbox(), [aReadyPod()]),
  sandboxclaim: aClaimRequest(aClaim(), [aClaimed()]),
  sandboxtemplate: aTemplateRequest(aTemplate(), [policy]),
  sandboxwarmpool: aPoolRequest({ sandboxes: [aMember(1)] }),
};

test.for(hookNames)("words that hook %s does not know are no reason", (name) => {
  const [hook] = makeHooks([name], DEFAULT_SETTINGS);
  const refusal = { message: "1 of 1 children would be deleted without a reason", children: [expect.any(String)] };
  expect(hook?.sync(REQUESTS[name], NOW)).toEqual({ refusal });
  expect(wrong.sync).toHaveBeenCalled();
});
