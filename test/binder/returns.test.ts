/** After a restore of etcd, the binder marks members whose binding was undone, so that the pool deletes them. @module */
import { setImmediate } from "node:timers";
import { expect, test } from "vitest";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import { createReturns } from "../../packages/binder/returns.ts";
import { viewOf } from "../../hooks/sandboxwarmpool/view.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { refusal } from "../kube/fakeapi.ts";
import { aMember, aPool } from "../pools.ts";

const member = aMember(1, { metadata: { resourceVersion: "7" } });

/** Marks the member at an API that answers so, one answer each; undefined: none comes. Returns what was asked. */
async function marked(...answers: (Answer | undefined)[]): Promise<ApiRequest[]> {
  const asked: ApiRequest[] = [];
  const api: Pick<Api, "send"> = {
    send(request) {
      asked.push(request);
      const answer = answers.shift();
      return answer ? Promise.resolve(answer) : Promise.reject(new Error("connection reset"));
    },
  };
  const clock = createFakeClock(0);
  createReturns(api as Api, () => {}, clock)(member);
  await clock.advance(60_000);
  return asked;
}

const done: Answer = { status: 200, body: {} };

test("the mark is the label of a claim, on condition of the version that was seen; nothing else is changed", async () => {
  const [request] = await marked(done);
  const { labels, ...metadata } = member.metadata;
  expect(request).toEqual({
    method: "PUT",
    path: "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/warm-1",
    body: { ...member, metadata: { ...metadata, labels: { ...labels, "agents.x-k8s.io/claim-uid": "returned" } } },
  });
  const children = { "Sandbox.agents.x-k8s.io/v1beta1": { "warm-1": request?.body } };
  const observed = { parent: aPool(), children, related: { "SandboxTemplate.extensions.agents.x-k8s.io/v1beta1": {} } };
  const view = viewOf(observed as unknown as Parameters<typeof viewOf>[0]);
  expect([view.members.length, view.returned.length], "its pool gives it up").toEqual([0, 1]);
});

test.for<[string, (Answer | undefined)[], number]>([
  ["it has changed: it will be shown again", [refusal(409, "modified"), done], 1],
  ["it is gone", [refusal(404, "not found"), done], 1],
  ["no answer comes", [undefined, undefined, done], 3],
  ["the API server refuses it", [refusal(403, "forbidden"), done], 2],
])("tries again only where that helps: %s", async ([, answers, times]) => {
  expect((await marked(...answers)).length).toBe(times);
});

test("a member that a list shows again, which was gone before, is marked", async () => {
  const asked: ApiRequest[] = [];
  const send: Api["send"] = (request) => {
    asked.push(request);
    return Promise.resolve(done);
  };
  const { handlers } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock: createFakeClock(0),
  });
  const list = () => {
    handlers.sandboxes.listing?.();
    handlers.sandboxes.observe(member);
    handlers.sandboxes.listed?.(new Set([member.metadata.uid!]), "7");
  };
  handlers.sandboxwarmpools.observe(aPool());
  list();
  list();
  await Promise.resolve();
  expect(asked, "it was there all the time").toEqual([]);
  handlers.sandboxes.gone(member.metadata.uid!);
  list();
  await new Promise((fulfil) => setImmediate(fulfil));
  expect(asked[0]).toMatchObject({
    method: "PUT",
    body: { metadata: { labels: { "agents.x-k8s.io/claim-uid": "returned" } } },
  });
});
