/** Two clients change one sandbox at the same time. @module */
import { Sandbox } from "e2b";
import { expect, test } from "vitest";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { createFollowing } from "../../packages/e2b/following.ts";
import { createSandboxes, type E2BSandboxes } from "../../packages/e2b/sandboxes.ts";
import { createTemplates } from "../../packages/e2b/templates.ts";
import { SECRET, startE2B } from "./api.ts";

/** What one client wants, and what the other one has done after the first has read the sandbox. Seconds until the end. */
test.for<
  [
    string,
    (id: string, one: E2BSandboxes) => Promise<unknown>,
    (id: string, other: E2BSandboxes) => Promise<unknown>,
    number,
  ]
>([
  [
    "a short connect",
    (id, one) => one.connect("team-a", id, 60),
    (id, other) => other.connect("team-a", id, 3600),
    3600,
  ],
  [
    "a short extension",
    (id, one) => one.extend("team-a", id, 60),
    (id, other) => other.extend("team-a", id, 3600),
    3600,
  ],
  [
    "the last setTimeout",
    (id, one) => one.setTimeout("team-a", id, 60),
    (id, other) => other.setTimeout("team-a", id, 3600),
    60,
  ],
])("%s does to a sandbox what it would do after the other one", async ([, act, meanwhile, seconds]) => {
  const { options, api, cluster } = await startE2B();
  const { sandboxId } = await Sandbox.create("base", { ...options, timeoutMs: 30_000 });
  const over = (send: typeof api.send) =>
    createSandboxes({ ...api, send }, createTemplates(api), () => [SECRET], createFollowing());
  let hasRead = false;
  const one = over(async (request: ApiRequest) => {
    const answer = await api.send(request);
    if (!hasRead) {
      hasRead = true;
      await meanwhile(sandboxId, over(api.send));
    }
    return answer;
  });
  await act(sandboxId, one);
  const { endAt } = await Sandbox.getInfo(sandboxId, options);
  const left = (endAt.getTime() - cluster.clock.now()) / 1000;
  expect(left).toBeGreaterThan(seconds - 20);
  expect(left).toBeLessThan(seconds + 20);
});
