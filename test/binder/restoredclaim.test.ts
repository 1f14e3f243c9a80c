/** After a restore of etcd, the binder writes the status of a claim again if the restore has undone it. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { createBinding } from "../../packages/binder/bind.ts";
import { handedOver } from "../../packages/binder/handover.ts";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import { createFakeClock } from "../../packages/testing/engine/fake-clock.ts";
import { aClaim, aMember, aPool, COUNTED, STATUS } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const claim = (resourceVersion: string) => aClaim("c", { metadata: { resourceVersion } });
const given = (resourceVersion: string): Sandbox => {
  const sandbox = handedOver(aMember(1), aClaim("c"), aTemplate(), NOW);
  return { ...sandbox, metadata: { ...sandbox.metadata, resourceVersion }, status: STATUS.ready } as Sandbox;
};

test("by its first status, written anew", async () => {
  const clock = createFakeClock(NOW.getTime());
  const asked: ApiRequest[] = [];
  const send = (request: ApiRequest): Promise<Answer> => {
    asked.push(request);
    const found = request.path.includes("/sandboxes/") ? given("2") : claim("2");
    const body = request.query?.["labelSelector"] ? { items: [], metadata: {} } : found;
    return Promise.resolve({ status: 200, body });
  };
  const { handlers, listed, serve } = createBinding({ send } as unknown as Api, {
    log: () => {},
    labelDomains: [],
    clock,
  });
  const statuses = () => asked.filter(({ method, path }) => method === "PUT" && path.endsWith("/status")).length;
  handlers.sandboxtemplates.observe(aTemplate());
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED }));
  handlers.sandboxclaims.observe(claim("20"));
  handlers.sandboxes.observe(given("21"));
  listed();
  const end = new AbortController();
  const serving = serve(end.signal);
  await clock.advance(10);
  expect(statuses()).toBe(1);
  handlers.sandboxclaims.observe(claim("20"));
  handlers.sandboxes.observe(given("22"));
  await clock.advance(10);
  expect(statuses(), "once is enough").toBe(1);
  handlers.sandboxclaims.observe(claim("10"));
  handlers.sandboxes.listing?.();
  handlers.sandboxes.observe(given("11"));
  handlers.sandboxes.listed(new Set(["uid-warm-1"]));
  await clock.advance(10);
  expect(statuses()).toBe(2);
  end.abort();
  await serving;
});
