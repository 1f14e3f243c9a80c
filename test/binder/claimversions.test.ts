/** A claim that the watch shows later than the binder has written it, or older than it was: what is news, and what is not. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { aClaim, aMember, aPool, COUNTED } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

const at = (claim: SandboxClaim, version: number): SandboxClaim => ({
  ...claim,
  metadata: { ...claim.metadata, resourceVersion: `${version}` },
});

const MOST = 100;

/** An API server with one claim, and a binder that sees of it what it is shown. Versions of the claim begin at 10. */
function begin(
  onStatus: (world: { now: () => SandboxClaim; show: (claim: SandboxClaim) => void }) => void = () => {},
) {
  const clock = createFakeClock(NOW.getTime());
  const versions: SandboxClaim[] = [at(aClaim("c"), 10)];
  const now = () => versions.at(-1) as SandboxClaim;
  let sandbox: Sandbox | undefined;
  const writes: string[] = [];
  const store = (changed: SandboxClaim) => versions.push(at(changed, Number(now().metadata.resourceVersion) + 1));
  /** Does what a request asks for, as far as versions allow it. */
  function answer({ method, path, body, query }: ApiRequest): Answer {
    if (query) return { status: 200, body: { items: [], metadata: { resourceVersion: "1" } } };
    if (path.includes("/sandboxes/")) {
      if (method === "PUT") sandbox = body as Sandbox;
      return { status: sandbox ? 200 : 404, body: sandbox ?? {} };
    }
    if (!path.includes("/sandboxclaims/") || method === "GET") return { status: 200, body: now() };
    writes.push(method);
    // A loop that never ends would not fail.
    if (writes.length > MOST) throw new Error("connection reset");
    const { metadata, status } = body as SandboxClaim;
    if (method === "PUT" && metadata.resourceVersion !== now().metadata.resourceVersion) {
      writes.push("409");
      return { status: 409, body: {} };
    }
    const annotations = { ...now().metadata.annotations, ...metadata.annotations };
    store(method === "PUT" ? { ...now(), status } : { ...now(), metadata: { ...now().metadata, annotations } });
    return { status: 200, body: now() };
  }
  const send: Api["send"] = async (request) => {
    const answered = await Promise.resolve(answer(request));
    if (request.path.endsWith("/status")) onStatus({ now, show: (claim) => handlers.sandboxclaims.observe(claim) });
    return answered;
  };
  const { handlers, listed, serve } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  handlers.sandboxtemplates.observe(aTemplate());
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED }));
  listed();
  const term = new AbortController();
  const serving = serve(term.signal);
  ended.push(async () => {
    term.abort();
    await serving;
  });
  const show = async (claim: SandboxClaim) => {
    handlers.sandboxclaims.observe(claim);
    await clock.advance(100);
  };
  return { clock, handlers, versions, writes, now, store, show };
}

/** Has the binder bind the claim to a member: it annotates the claim (version 11), and then writes its status (version 12). */
async function bound() {
  const world = begin();
  world.handlers.sandboxes.observe(aMember(1));
  await world.show(world.versions[0]!);
  expect([world.writes.splice(0), world.now().status?.sandbox?.name]).toEqual([["PATCH", "PUT"], "warm-1"]);
  return world;
}

test("versions that the binder has written itself are no news when the watch shows them", async () => {
  const { versions, writes, show, clock } = await bound();
  for (const version of [...versions]) await show(version);
  await clock.advance(60_000);
  expect([writes, versions.length]).toEqual([[], 3]);
});

test("a change that was made before what the binder has written is no news, either", async () => {
  const { writes, show, clock } = await bound();
  await show(at(aClaim("c", { metadata: { labels: { mine: "1" } } }), 11));
  await clock.advance(60_000);
  expect(writes).toEqual([]);
});

test("what is changed after that is news: a status that somebody takes away is written again", async () => {
  const { versions, writes, now, store, show } = await bound();
  for (const version of [...versions]) await show(version);
  const { status: _, ...rest } = now();
  store(rest);
  await show(now());
  expect([writes, now().status?.sandbox?.name]).toEqual([["PUT"], "warm-1"]);
});

test("an answer that comes after a newer version has been shown is no news", async () => {
  let isFirst = true;
  const { handlers, versions, writes, now, show } = begin((world) => {
    if (!isFirst) return;
    isFirst = false;
    const { status: _, ...taken } = world.now();
    versions.push(at(taken, 13));
    world.show(world.now());
  });
  handlers.sandboxes.observe(aMember(1));
  await show(versions[0]!);
  expect([writes, now().status?.sandbox?.name]).toEqual([["PATCH", "PUT", "PUT"], "warm-1"]);
});

test("a list that shows the version before the binder's own writes takes them back: etcd was restored", async () => {
  const { handlers, versions, writes, now, show } = await bound();
  versions.length = 1;
  await show(versions[0]!);
  expect(writes, "a watch repeats what it has shown").toEqual([]);
  handlers.sandboxclaims.listing?.();
  await show(versions[0]!);
  expect([writes, now().status?.sandbox?.name]).toEqual([["PATCH", "PUT"], "warm-1"]);
});

test("a claim that is shown in an older version than before is looked at anew: etcd was restored", async () => {
  const { versions, writes, now, show } = await bound();
  for (const version of [...versions]) await show(version);
  versions.splice(0, 3, at(aClaim("c"), 9));
  await show(now());
  expect([writes, now().status?.sandbox?.name]).toEqual([["PATCH", "PUT"], "warm-1"]);
});

test("a list that was read before the binder's own writes changes nothing", async () => {
  const { handlers, versions, writes, show, clock } = begin();
  handlers.sandboxes.observe(aMember(1));
  handlers.sandboxclaims.observe(versions[0]!);
  handlers.sandboxclaims.listing?.();
  await clock.advance(100);
  expect(writes.splice(0)).toEqual(["PATCH", "PUT"]);
  await show(versions[0]!);
  await clock.advance(60_000);
  expect(writes).toEqual([]);
});

test("a list of an API server that lags behind overwrites nothing", async () => {
  const { handlers, versions, writes, now, show, clock } = await bound();
  const { status } = now();
  handlers.sandboxclaims.listing?.();
  for (const version of [...versions]) await show(version);
  await clock.advance(60_000);
  expect(now().status).toEqual(status);
  expect(writes, "refused because of its version").toEqual(["PATCH", "PUT", "409"]);
});
