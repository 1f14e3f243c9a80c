/** After a restore of etcd, the binder writes the status of a claim again if the restore has undone it, and its Sandbox is older, too. @module */
import { expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { aClaim, aMember, aPool, COUNTED, STATUS } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const claim = (resourceVersion: string) => aClaim("c", { metadata: { resourceVersion } });
const given = (resourceVersion: string): Sandbox => {
  const sandbox = boundMember(aMember(1), aClaim("c"), aTemplate(), NOW);
  return { ...sandbox, metadata: { ...sandbox.metadata, resourceVersion }, status: STATUS.ready } as Sandbox;
};

test("a status that a restore has undone is written again, once", async () => {
  const clock = createFakeClock(NOW.getTime());
  const asked: ApiRequest[] = [];
  let [stored, version] = [claim("20"), 21];
  const answer = ({ method, path, query, body }: ApiRequest): Answer => {
    if (query?.["labelSelector"]) return { status: 200, body: { items: [], metadata: {} } };
    if (path.includes("/sandboxes/")) return { status: 200, body: given("2") };
    const { status, metadata } = (body ?? {}) as SandboxClaim;
    if (method !== "GET") {
      const annotations = { ...stored.metadata.annotations, ...metadata.annotations };
      stored = { ...stored, ...(status && { status }), metadata: { ...stored.metadata, annotations } };
      stored.metadata.resourceVersion = `${version++}`;
    }
    return { status: 200, body: stored };
  };
  const send = async (request: ApiRequest): Promise<Answer> => {
    asked.push(request);
    // A loop that never ends would not fail.
    if (asked.length > 100) throw new Error("connection reset");
    return await Promise.resolve(answer(request));
  };
  const { handlers, listed, serve } = createBinding({ send } as unknown as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
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
  [stored, version] = [claim("10"), 11];
  handlers.sandboxclaims.observe(stored);
  handlers.sandboxes.listing?.();
  handlers.sandboxes.observe(given("11"));
  handlers.sandboxes.listed?.(new Set(["uid-warm-1"]));
  await clock.advance(10);
  expect(statuses()).toBe(2);
  end.abort();
  await serving;
});
