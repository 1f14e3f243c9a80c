/** Which Sandbox is a claim's own, whatever its status says. @module */
import { expect, test } from "vitest";
import { ownSandbox } from "../../packages/e2b/ownsandbox.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { putSandbox } from "../router/stage.ts";

test("a Sandbox is a claim's own if the claim controls it, and not because the claim's status names it", async () => {
  const api = createFakeApi();
  const claim = (uid: string) => ({
    ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "a", uid, controller: true },
  });
  putSandbox(api, "own", { metadata: { ownerReferences: [claim("uid-a")] } });
  putSandbox(api, "foreign", { metadata: { ownerReferences: [claim("uid-b")] } });
  putSandbox(api, "free");
  const named = async (sandboxName: string | undefined) =>
    (await ownSandbox(api, { namespace: "team-a", uid: "uid-a", sandboxName }))?.metadata.name;
  expect(await Promise.all(["own", "foreign", "free", "missing", undefined].map(named))).toEqual([
    "own",
    ...[undefined, undefined, undefined, undefined],
  ]);
});
