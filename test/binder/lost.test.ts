/** Claims whose Sandbox is gone, that have two, or that expire without one: what the binder reports, and who gets another Sandbox. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { watchedClaims } from "../watchedclaims.ts";
import { aWorld, broken, isBlind } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const READY = "True DependenciesReady Pod is Ready";
const MISSING = "False SandboxMissing Sandbox does not exist";
const SANDBOX_NAME = "agents.x-k8s.io/sandbox-name";
const named = (name: string) => world.sandboxes().find(({ metadata }) => metadata.name === name);
const ofClaim = () => world.asked.filter((line) => line.includes("sandboxclaims/c"));
const noted = () => world.claims()[0]?.metadata.annotations?.[SANDBOX_NAME];

/** Makes a world with so many Ready members, and a binder that has bound a claim to the first. */
async function bound(members: number[], ...binder: Parameters<typeof world.binder>) {
  world = await aWorld();
  await world.members(members);
  await world.binder(...binder);
  await world.claim("c");
  await world.clock.advance(100);
  expect(world.shown()).toEqual({ c: "warm-1" });
  world.asked.length = 0;
}

test("a claim whose Sandbox is gone reports that, and then the Sandbox that it gets instead", async () => {
  await bound([1, 2]);
  const versions = world.versionsOf("c");
  const seen = watchedClaims(world.server);
  await world.remove(named("warm-1"), "Sandbox");
  await world.clock.advance(10_000);
  expect([world.shares(), world.shown(), noted()]).toEqual([{ c: ["warm-2"] }, { c: "warm-2" }, "warm-2"]);
  expect([versions, seen.bare]).toEqual([[MISSING, READY], []]);
});

test("while it has none, it names none, and reports why it gets no other", async () => {
  await bound([1]);
  const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
  await world.remove(pool, "SandboxWarmPool");
  await world.remove(named("warm-1"), "Sandbox");
  expect([world.ready(), world.claims()[0]?.status?.sandbox]).toEqual([{ c: MISSING }, undefined]);
  await world.clock.advance(2000);
  expect(world.ready()).toEqual({ c: 'False WarmPoolNotFound SandboxWarmPool "warm" not found' });
});

test("somebody else's Sandbox of the name is none of the claim's", async () => {
  await bound([1]);
  const { uid: _, resourceVersion: __, ownerReferences: ___, ...metadata } = named("warm-1")!.metadata;
  const stranger = { ...named("warm-1"), metadata } as never;
  await world.remove(named("warm-1"), "Sandbox");
  await world.store.put(stranger);
  await world.clock.advance(10_000);
  expect(world.shares()).toEqual({ c: ["c"] });
});

const isLook = ({ method, path }: Parameters<ApiFault>[0]) => method === "GET" && path.endsWith("/sandboxes/warm-1");

test("a claim keeps the Sandbox that only the watch does not show", async () => {
  await bound([1, 2]);
  await world.stop();
  world.asked.length = 0;
  const empty = { status: 200, body: { items: [], metadata: { resourceVersion: "1" } } };
  await world.binder((request) =>
    request.path.endsWith("/sandboxes") && request.query?.["limit"] ? empty : isBlind(request)
  );
  await world.clock.advance(10_000);
  expect([world.shares(), world.ready()]).toEqual([{ c: ["warm-1"] }, { c: READY }]);
  expect(ofClaim().filter((line) => !line.startsWith("GET"))).toEqual([]);
});

test("a claim does not report that its Sandbox is gone while the API server does not say so", async () => {
  let isDown = true;
  await bound([1, 2], (request) => isDown && isLook(request) ? broken : undefined);
  await world.remove(named("warm-1"), "Sandbox");
  await world.clock.advance(10_000);
  expect([world.shares(), world.ready()]).toEqual([{ c: [] }, { c: READY }]);
  isDown = false;
  await world.clock.advance(60_000);
  expect([world.shares(), world.ready()]).toEqual([{ c: ["warm-2"] }, { c: READY }]);
});

const ends = [
  ["finished", "False PodFailed Pod has failed"],
  ["expired", "False SandboxExpired Underlying Sandbox resource has expired independently of the Claim."],
  ["invalid", "False InvalidConfiguration Error seen: bad name"],
] as const;
test.for(ends)(
  "a Sandbox that has ended (%s) and goes: its claim reports the end, and gets no other",
  async ([state, want]) => {
    await bound([1, 2]);
    await world.store.put({ ...named("warm-1"), status: STATUS[state] } as never);
    await world.clock.advance(0);
    expect(world.ready(), "that is for the claim's hook").toEqual({ c: READY });
    await world.remove(named("warm-1"), "Sandbox");
    await world.clock.advance(60_000);
    expect([world.shares(), world.shown(), world.ready()]).toEqual([{ c: [] }, { c: "warm-1" }, { c: want }]);
    const types = STATUS[state].conditions.map(({ type }) => type);
    expect(world.claims()[0]?.status?.conditions?.map(({ type }) => type)).toEqual(types.toSorted());
    expect(ofClaim().filter((line) => line.startsWith("PUT"))).toEqual(["PUT sandboxclaims/c/status"]);
  },
);

test("a Sandbox that has ended and runs again is no end", async () => {
  await bound([1, 2]);
  for (const state of ["finished", "ready"] as const) {
    await world.store.put({ ...named("warm-1"), status: STATUS[state] } as never);
    await world.clock.advance(0);
  }
  await world.remove(named("warm-1"), "Sandbox");
  expect(world.shares()).toEqual({ c: ["warm-2"] });
});

test("a claim that has reported the end of its Sandbox stays as it is when that goes", async () => {
  await bound([1, 2]);
  const [claim] = world.claims();
  const status = { ...claim!.status, conditions: STATUS.finished.conditions };
  await world.store.put({ ...claim!, status } as never);
  await world.remove(named("warm-1"), "Sandbox");
  await world.clock.advance(60_000);
  expect([world.shares(), world.claims()[0]?.status, ofClaim()]).toEqual([{ c: [] }, status, []]);
});

/** Makes two members the claim's, as two binders that lead for a moment might; the second one was earlier. */
async function giveBoth(): Promise<void> {
  const [claim] = world.claims();
  const [first, second] = ["warm-1", "warm-2"].map((name) => named(name) as Sandbox);
  await world.store.put(boundMember(first!, claim!, aTemplate(), new Date(world.clock.now())));
  await world.store.put(boundMember(second!, claim!, aTemplate(), new Date(world.clock.now() - 1)));
}

test.for([{ note: "warm-1", want: "warm-1" }, { note: undefined, want: "warm-2" }, { note: "gone", want: "warm-2" }])(
  "a claim with two Sandboxes, which is annotated with $note, is bound to $want; the other one is left to its hook",
  async ({ note, want }) => {
    world = await aWorld();
    await world.members([1, 2]);
    await world.claim("c", note === undefined ? {} : { metadata: { annotations: { [SANDBOX_NAME]: note } } });
    await giveBoth();
    const seen = watchedClaims(world.server);
    await world.binder();
    await world.clock.advance(60_000);
    expect([world.shown(), noted(), seen.bare]).toEqual([{ c: want }, want, []]);
    expect([world.shares()["c"], world.asked.filter((line) => line.startsWith("DELETE"))]).toEqual([
      ["warm-1", "warm-2"],
      [],
    ]);
  },
);

test("a claim of whose two Sandboxes the one goes that it names is bound to the other one", async () => {
  world = await aWorld();
  await world.members([1, 2, 3]);
  await world.claim("c");
  await giveBoth();
  await world.binder();
  await world.clock.advance(100);
  const versions = world.versionsOf("c");
  const seen = watchedClaims(world.server);
  await world.remove(named("warm-2"), "Sandbox");
  await world.clock.advance(10_000);
  expect([world.shown(), world.shares(), noted()]).toEqual([{ c: "warm-1" }, { c: ["warm-1"] }, "warm-1"]);
  expect([versions, seen.bare], "clients see that it is another one").toEqual([[MISSING, READY], []]);
});

test("a claim of whose two Sandboxes the one has ended and goes that it names is bound to the other one", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  await world.claim("c");
  await giveBoth();
  await world.binder();
  await world.clock.advance(100);
  await world.store.put({ ...named("warm-2"), status: STATUS.finished } as never);
  await world.remove(named("warm-2"), "Sandbox");
  await world.clock.advance(10_000);
  expect([world.shown(), world.ready(), world.shares()]).toEqual([{ c: "warm-1" }, { c: READY }, { c: ["warm-1"] }]);
});

test("a Sandbox that goes while the status that names it is written is not named", async () => {
  world = await aWorld();
  await world.members([1, 2, 3]);
  await world.claim("c");
  await giveBoth();
  let isFirst = true;
  await world.binder(undefined, async ({ method, path }, send) => {
    const answer = await send();
    if (method === "PATCH" && path.endsWith("/sandboxclaims/c") && isFirst) {
      isFirst = false;
      await world.remove(named("warm-2"), "Sandbox");
    }
    return answer;
  });
  const shown: (string | undefined)[] = [];
  world.server.onChange(() => shown.push(world.shown()["c"]));
  await world.clock.advance(10_000);
  expect([world.shown(), shown.includes("warm-2")]).toEqual([{ c: "warm-1" }, false]);
});
