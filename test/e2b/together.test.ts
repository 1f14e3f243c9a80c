/** Two clients change one sandbox at the same time. @module */
import { Sandbox } from "e2b";
import { expect, test } from "vitest";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { sandboxesOver, startE2B } from "./api.ts";

const [SHORT_S, LONG_S] = [60, 3600];

test.for(
  [
    ["connect", LONG_S],
    ["extend", LONG_S],
    ["setTimeout", SHORT_S],
  ] as const,
)("a short %s does what it would do after a long one that comes in between", async ([method, seconds]) => {
  const { options, api, cluster } = await startE2B();
  const { sandboxId } = await Sandbox.create("base", { ...options, timeoutMs: 30_000 });
  let hasRead = false;
  const sandboxes = sandboxesOver({
    ...api,
    async send(request: ApiRequest) {
      const answer = await api.send(request);
      if (!hasRead) {
        hasRead = true;
        await sandboxesOver(api)[method]("team-a", sandboxId, LONG_S);
      }
      return answer;
    },
  });
  await sandboxes[method]("team-a", sandboxId, SHORT_S);
  const { endAt } = await Sandbox.getInfo(sandboxId, options);
  const left = (endAt.getTime() - cluster.clock.now()) / 1000;
  expect(left).toBeGreaterThan(seconds - 20);
  expect(left).toBeLessThan(seconds + 20);
});
