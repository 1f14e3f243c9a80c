/** When a claim is annotated, and with what: from then on its hook is asked. @module */
import { afterEach, expect, test } from "vitest";
import { aTemplate } from "../templates.ts";
import { aClaim } from "../pools.ts";
import { createNoteLines } from "../../packages/binder/notelines.ts";
import { createEntry } from "../../packages/binder/state.ts";
import { aWorld, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const ENV = { env: [{ name: "A", value: "1" }] };
const isStatus = ({ path }: { path: string }) => path.endsWith("/status");

/** Makes a world with so many Ready members, and a binder on it. */
async function begin(members: number[], ...binder: Parameters<typeof world.binder>) {
  world = await aWorld({ template: OPEN });
  await world.members(members);
  await world.binder(...binder);
}

const OBSERVED = "agents.x-k8s.io/controller-first-observed-at";
const SANDBOX_NAME = "agents.x-k8s.io/sandbox-name";
const annotated = () => world.asked.filter((line) => line === "PATCH sandboxclaims/c").length;
/** The claim's Sandbox says all that it would, as its hook does after a hand-over. */
async function settleSandbox(): Promise<void> {
  const own = world.sandboxes().find(({ metadata }) => metadata.name === "warm-1");
  const { generation = 1 } = own?.metadata ?? {};
  const conditions = (own?.status?.conditions ?? []).map((one) => ({ ...one, observedGeneration: generation }));
  await world.store.put({ ...own, status: { ...own?.status, conditions } } as never);
}
const notesOf = (index = 0) => world.claims()[index]?.metadata.annotations ?? {};

test("a claim that is served is annotated once, with all there is to say", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(4999);
  expect(annotated()).toBe(0);
  await world.clock.advance(1);
  expect(annotated()).toBe(1);
  expect(Object.keys(notesOf()).toSorted()).toEqual([
    "agents.x-k8s.io/claim-first-ready-at",
    OBSERVED,
    SANDBOX_NAME,
  ]);
});

test("its hook is asked once the Sandbox has settled: of that event it would be asked again", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(100);
  expect([world.shown(), annotated()]).toEqual([{ c: "warm-1" }, 0]);
  await settleSandbox();
  await world.clock.advance(0);
  expect(annotated()).toBe(1);
  await world.clock.advance(60_000);
  expect(annotated()).toBe(1);
});

test("a claim that has changed is annotated at once: its hook has something to say", async () => {
  await begin([1, 2]);
  await world.claim("c");
  await world.clock.advance(100);
  const [claim] = world.claims();
  await world.store.put({ ...claim, spec: { ...claim?.spec, lifecycle: { shutdownPolicy: "Delete" } } } as never);
  await world.clock.advance(0);
  expect([world.shown(), annotated()]).toEqual([{ c: "warm-1" }, 1]);
});

test("a Sandbox that has settled before its claim is told does not delay anything", async () => {
  const isFirst = once(isStatus);
  await begin([1, 2], undefined, async (request, send) => {
    if (isFirst(request)) await settleSandbox();
    return await send();
  });
  await world.claim("c");
  await world.clock.advance(0);
  expect([world.shown(), annotated()]).toEqual([{ c: "warm-1" }, 1]);
});

test("one whose Sandbox is not Ready yet is annotated, so that its hook is asked", async () => {
  await begin([]);
  await world.claim("c", { spec: ENV });
  await world.clock.advance(0);
  expect(notesOf()).toMatchObject({ [OBSERVED]: expect.any(String), [SANDBOX_NAME]: "c" });
});

test.for([
  { name: "asks for bad metadata", spec: { additionalPodMetadata: { labels: { plain: "1" } } } },
  { name: "has expired", spec: { lifecycle: { shutdownTime: "2020-01-01T00:00:00Z" } } },
  { name: "names a pool that does not exist", spec: { warmPoolRef: { name: "none" } } },
])("one that cannot be served ($name) is annotated, once", async ({ spec }) => {
  await begin([1]);
  await world.claim("c", { spec });
  await world.clock.advance(100);
  expect(world.shares()).toEqual({ c: [] });
  expect(Object.keys(notesOf())).toEqual([OBSERVED]);
  await world.members([2]);
  await world.clock.advance(60_000);
  expect(world.asked.filter((line) => line === "PATCH sandboxclaims/c")).toHaveLength(1);
});

test("one that a binder has served and not annotated is annotated by the next", async () => {
  await begin([1, 2], (request) => request.method === "PATCH" ? { status: 500, body: {} } : undefined);
  await world.claim("c");
  await world.clock.advance(100);
  expect([world.shown(), notesOf()]).toEqual([{ c: "warm-1" }, {}]);
  await world.binder();
  await world.clock.advance(100);
  expect(notesOf()).toMatchObject({ [OBSERVED]: expect.any(String), [SANDBOX_NAME]: "warm-1" });
});

test("one that has been taken note of is not annotated anew", async () => {
  await begin([1]);
  const noted = { annotations: { [OBSERVED]: "2026-01-01T00:00:00.000Z" } };
  await world.claim("c", { metadata: noted, spec: { warmPoolRef: { name: "none" } } });
  await world.clock.advance(1000);
  expect(world.asked.filter((line) => line.startsWith("PATCH sandboxclaims"))).toEqual([]);
});

test("namespaces take turns: many claims of one hold up nobody else's", () => {
  const lines = createNoteLines();
  const put = (namespace: string, name: string, notBefore = 0) => {
    const claim = aClaim(name, { metadata: { namespace } });
    lines.put({ entry: createEntry(claim, claim, 0), annotations: {}, at: 0, notBefore });
  };
  for (const name of ["a", "b", "c"]) put("many", name);
  put("one", "d");
  put("later", "e", 10);
  expect(lines.soonest()).toBe(0);
  const taken = [5, 5, 5, 5, 5, 10].map((now) => lines.take(now)?.entry.claim.metadata.name);
  expect(taken).toEqual(["a", "d", "b", "c", undefined, "e"]);
  expect([lines.soonest(), lines.get("many", "uid-a")]).toEqual([Infinity, undefined]);
});
