/** What the binder does where something goes wrong: nobody is given two, nobody is left without, nothing is lost to the pool. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import type { Api, ApiRequest } from "../../packages/kube/api.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aClaim, aMember, aPool, COUNTED } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { type Around, aWorld, broken, isBlind, losing, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const isPut = ({ method, path }: Pick<ApiRequest, "path"> & { method: string }) =>
  method === "PUT" && path.includes("/sandboxes/");
const isStatus = ({ path }: { path: string }) => path.endsWith("/status");
const answering =
  (status: number, holds: (request: { method: string; path: string }) => boolean): ApiFault => (request) =>
    holds(request) ? { status, body: { message: "no" } } : undefined;
const puts = () => world.asked.filter((line) => line.startsWith("PUT sandboxes/"));

async function begin(members: number[], ...binder: Parameters<typeof world.binder>) {
  world = await aWorld();
  await world.members(members);
  await world.binder(...binder);
}

test("a member that is lost to somebody else makes room for another one at once", async () => {
  await begin([1, 2], answering(409, once(isPut)));
  await world.claim("c");
  await world.clock.advance(0);
  expect([world.shares(), puts()]).toEqual([{ c: ["warm-2"] }, ["PUT sandboxes/warm-1", "PUT sandboxes/warm-2"]]);
});

test("what was lost goes to no claim until the watch shows a newer version of it", async () => {
  await begin([1], answering(409, once(isPut)));
  await world.claim("c");
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["c"] });
  const [member] = world.sandboxes();
  await world.store.put(
    { ...member, metadata: { ...member?.metadata, labels: { ...member?.metadata.labels, x: "1" } } } as never,
  );
  await world.clock.advance(0);
  await world.claim("d");
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["c"], d: ["warm-1"] });
});

test("a Sandbox is the claim's if the binding has landed, though without an answer", async () => {
  await begin([1, 2], undefined, losing(once(isPut)));
  await world.claim("c");
  await world.clock.advance(0);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }]);
});

test("one that has not landed is done again, with the same member", async () => {
  const isFirst = once(isPut);
  await begin([1], (request) => isFirst(request) ? broken : undefined);
  await world.claim("c");
  await world.clock.advance(999);
  expect(world.shares()).toEqual({ c: [] });
  await world.clock.advance(10);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

test("one of which nobody knows is looked for before anything else: the claim is not given two", async () => {
  let isDown = false;
  let isFirst = true;
  world = await aWorld();
  await world.members([1, 2]);
  const fault: ApiFault = (request) => isBlind(request) ?? (isDown && request.method !== "WATCH" ? broken : undefined);
  await world.binder(fault, async (request, send) => {
    const answer = await send();
    if (!isPut(request) || !isFirst) return answer;
    isFirst = false;
    isDown = true;
    throw broken;
  });
  await world.claim("c");
  await world.clock.advance(500);
  isDown = false;
  await world.clock.advance(5000);
  expect([world.shares(), puts()]).toEqual([{ c: ["warm-1"] }, ["PUT sandboxes/warm-1"]]);
});

test("an unknown cold Sandbox is looked for, too, before a member that has come since then is bound", async () => {
  world = await aWorld({ pool: null });
  const { clock } = world;
  const asked: string[] = [];
  let isDown = false;
  let landed: Sandbox | undefined;
  const send: Api["send"] = ({ method, path, body, query }) => {
    const last = path.split("/").at(-1) ?? "";
    if (!query) asked.push(`${method} ${last}`);
    if (query) return Promise.resolve({ status: 200, body: { items: [], metadata: { resourceVersion: "1" } } });
    if (method !== "POST") {
      if (isDown) return Promise.reject(broken);
      return Promise.resolve(landed && last === "c" ? { status: 200, body: landed } : { status: 200, body });
    }
    const made = body as Sandbox;
    const sandbox = { ...made, metadata: { ...made.metadata, uid: `uid-${made.metadata.name}`, resourceVersion: "9" } };
    if (sandbox.metadata.name !== "c") return Promise.resolve({ status: 201, body: sandbox });
    landed = sandbox;
    isDown = true;
    return Promise.reject(broken);
  };
  const binding = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
    clock,
  });
  const { handlers } = binding;
  handlers.sandboxtemplates.observe(aTemplate());
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED }));
  binding.listed();
  const term = new AbortController();
  const serving = binding.serve(term.signal);
  handlers.sandboxclaims.observe(aClaim("first"));
  await clock.advance(0);
  handlers.sandboxes.observe({ ...aMember(9), metadata: { ...aMember(9).metadata, resourceVersion: "10" } });
  handlers.sandboxes.gone(aMember(9).metadata.uid ?? "");
  asked.length = 0;
  handlers.sandboxclaims.observe(aClaim("c"));
  await clock.advance(0);
  expect(asked).toEqual(["POST sandboxes", "GET c"]);
  handlers.sandboxes.observe(aMember(1));
  isDown = false;
  await clock.advance(5000);
  expect(asked.slice(2)).toContain("GET c");
  expect(asked).not.toContain("PUT warm-1");
  term.abort();
  await serving;
});

test("failures cost the pool nothing: its members are there when they end", async () => {
  let isRefusing = true;
  await begin([1, 2], (request) => isRefusing && isPut(request) ? { status: 500, body: { message: "no" } } : undefined);
  for (const name of ["c", "d"]) await world.claim(name);
  await world.clock.advance(20_000);
  expect(world.shares()).toEqual({ c: [], d: [] });
  expect(puts().length, "less and less often").toBeLessThan(14);
  isRefusing = false;
  await world.clock.advance(30_000);
  expect(Object.values(world.shares()).flat().toSorted()).toEqual(["warm-1", "warm-2"]);
  expect(world.faults().length).toBeGreaterThan(0);
});

test("a claim whose status names a living Sandbox is not given a second one, though the watch has not shown it", async () => {
  await begin([1, 2], isBlind);
  const claim = await world.claim("c", { spec: { warmPoolRef: { name: "none" } } });
  await world.store.put(boundMember(world.sandboxes()[1] as Sandbox, claim, aTemplate(), new Date(0)));
  const status = { sandbox: { name: "warm-2" } };
  await world.claim("c", { spec: { warmPoolRef: { name: "none" } }, status });
  await world.claim("c", { status });
  await world.clock.advance(1000);
  expect([world.shares(), puts()]).toEqual([{ c: ["warm-2"] }, []]);
  await world.claim("d");
  await world.clock.advance(1000);
  expect(world.shares(), "what was chosen for c is free").toEqual({ c: ["warm-2"], d: ["warm-1"] });
});

test("a cold Sandbox whose name is somebody else's is made once that is gone", async () => {
  world = await aWorld();
  await world.members([1], { metadata: { name: "c", labels: { "agents.x-k8s.io/draining": "stale" } } });
  await world.binder();
  await world.claim("c");
  await world.clock.advance(4000);
  const posts = world.asked.filter((line) => line.startsWith("POST"));
  expect([world.shares(), posts.length]).toEqual([{ c: [] }, 1]);
  expect(world.ready()).toEqual({
    c: 'False ReconcilerError Error seen: sandbox "c" is not controlled by claim "c". ' +
      "Please use a different claim name or delete the sandbox manually",
  });
  await world.remove(world.sandboxes()[0], "Sandbox");
  await world.clock.advance(5000);
  expect(world.shares()).toEqual({ c: ["c"] });
});

test("two binders at once share nothing, and give each claim exactly one", async () => {
  world = await aWorld({ pool: aPool({ status: COUNTED, spec: { replicas: 9 } }) });
  await world.members([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const slow: Around = async (_, send) => {
    await new Promise<void>((fulfil) => world.clock.setTimeout(fulfil, 5));
    return await send();
  };
  const started = Promise.all([world.binder(undefined, slow), world.binder(undefined, slow)]);
  await world.clock.advance(1000);
  await started;
  const names = Array.from({ length: 9 }, (_, index) => `c-${index}`);
  for (const name of names) {
    await world.claim(name);
    await world.clock.advance(1);
  }
  await world.clock.advance(10_000);
  const shares = world.shares();
  expect(Object.values(shares).map((own) => own.length)).toEqual(names.map(() => 1));
  expect(new Set(Object.values(shares).flat()).size).toBe(9);
});

test("a binder whose member was taken looks whether it was for the same claim, though its watch has not shown it", async () => {
  const isSilent = answering(500, isStatus);
  await begin([1, 2, 3], isSilent);
  await world.binder((request) => isBlind(request) ?? isSilent(request));
  for (const name of ["c", "d"]) await world.claim(name);
  await world.clock.advance(5000);
  expect(Object.values(world.shares()).map((own) => own.length)).toEqual([1, 1]);
});

test("a binder that does not lead any more begins nothing", async () => {
  await begin([1]);
  await world.stop();
  await world.claim("c");
  await world.clock.advance(60_000);
  expect([world.shares(), world.asked]).toEqual([{ c: [] }, []]);
});
