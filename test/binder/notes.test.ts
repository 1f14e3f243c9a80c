/** When a claim is annotated, and with what: always before it is Ready. @module */
import { afterEach, expect, test } from "vitest";
import { aTemplate } from "../templates.ts";
import { aClaim } from "../pools.ts";
import { createNoteLines } from "../../packages/binder/notelines.ts";
import { createEntry } from "../../packages/binder/state.ts";
import type { Answer, ApiRequest } from "../../packages/kube/api.ts";
import { STATUS } from "../pools.ts";
import { watchedClaims } from "../watchedclaims.ts";
import { aWorld, broken, losing, once } from "./world.ts";

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
const READY_AT = "agents.x-k8s.io/claim-first-ready-at";
const SANDBOX_NAME = "agents.x-k8s.io/sandbox-name";
const annotated = () => world.asked.filter((line) => line === "PATCH sandboxclaims/c").length;
const notesOf = (index = 0) => world.claims()[index]?.metadata.annotations ?? {};

const requests = () => world.asked.filter((line) => !line.startsWith("PATCH sandboxwarmpools"));

test("a claim that is given a member is annotated along with it, once, and Ready after both: three writes in all", async () => {
  await begin([1]);
  await world.claim("c");
  await world.clock.advance(60_000);
  expect(Object.keys(notesOf()).toSorted()).toEqual([READY_AT, OBSERVED, SANDBOX_NAME]);
  expect(world.shown()).toEqual({ c: "warm-1" });
  expect(requests().filter((line) => line.includes("sandboxclaims") || line.startsWith("PUT"))).toEqual([
    "PATCH sandboxclaims/c",
    "PUT sandboxes/warm-1",
    "PUT sandboxclaims/c/status",
  ]);
});

const isNote = ({ method, path }: ApiRequest) => method === "PATCH" && path.endsWith("/sandboxclaims/c");
const isMember = ({ method, path }: ApiRequest) => method === "PUT" && path.includes("/sandboxes/");
const late = (isLate: (request: ApiRequest) => boolean) => async (request: ApiRequest, send: () => Promise<Answer>) => {
  if (isLate(request)) await new Promise<void>((fulfil) => world.clock.setTimeout(fulfil, 1000));
  return await send();
};

test.for([
  { what: "the annotations come late", around: late(isNote) },
  { what: "the Sandbox comes late", around: late(isMember) },
  { what: "annotations are refused once", fault: once(isNote), want: 2 },
  { what: "no answer comes to the annotations, which have landed", around: losing(once(isNote)) },
  { what: "the member is lost to another", around: late(isMember), isLost: true },
])("a claim is never Ready without its annotations: $what", async ({ around, fault, isLost, want }) => {
  await begin(
    isLost ? [1, 2] : [1],
    (request) => fault?.(request as ApiRequest) ? { status: 500, body: {} } : undefined,
    around,
  );
  const seen = watchedClaims(world.server);
  await world.claim("c");
  await world.clock.advance(10);
  if (isLost) {
    const { uid: _, resourceVersion: _version, ...metadata } = world.sandboxes()[0]?.metadata ?? { name: "" };
    await world.store.put({ ...world.sandboxes()[0], metadata: { ...metadata, labels: { other: "yes" } } } as never);
  }
  await world.clock.advance(60_000);
  expect(world.claims()[0]?.status).toMatchObject({ conditions: [{ type: "Ready", status: "True" }] });
  expect(seen.bare).toEqual([]);
  expect(notesOf()[SANDBOX_NAME]).toBe(world.shown()["c"]);
  if (want) expect(annotated()).toBe(want);
});

test("a binder that is killed between the writes: the next one annotates the claim before it is Ready", async () => {
  await begin([1, 2], (request) => request.method === "PATCH" || isStatus(request) ? broken : undefined);
  const seen = watchedClaims(world.server);
  await world.claim("c");
  await world.clock.advance(500);
  expect([world.shares(), world.shown(), notesOf()]).toEqual([{ c: ["warm-1"] }, { c: undefined }, {}]);
  await world.stop();
  await world.binder();
  await world.clock.advance(5000);
  expect([world.shown(), seen.bare]).toEqual([{ c: "warm-1" }, []]);
});

test("a cold Sandbox: the claim is annotated before it is Ready", async () => {
  await begin([]);
  const seen = watchedClaims(world.server);
  await world.claim("c", { spec: ENV });
  await world.clock.advance(1000);
  const [made] = world.sandboxes();
  await world.store.put({ ...made, status: STATUS.ready } as never);
  await world.clock.advance(0);
  expect([world.shown(), seen.bare]).toEqual([{ c: "c" }, []]);
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

test("one that has been taken note of is not annotated anew", async () => {
  await begin([1]);
  const noted = { annotations: { [OBSERVED]: "2026-01-01T00:00:00.000Z" } };
  await world.claim("c", { metadata: noted, spec: { warmPoolRef: { name: "none" } } });
  await world.clock.advance(1000);
  expect(world.asked.filter((line) => line.startsWith("PATCH sandboxclaims"))).toEqual([]);
});

test("namespaces take turns: many claims of one hold up nobody else's", () => {
  const lines = createNoteLines();
  const put = (namespace: string, name: string) => {
    const claim = aClaim(name, { metadata: { namespace } });
    lines.put({ entry: createEntry(claim, claim, 0), annotations: {}, at: 0 });
  };
  for (const name of ["a", "b", "c"]) put("many", name);
  put("one", "d");
  const taken = Array.from({ length: 5 }, () => lines.take()?.entry.claim.metadata.name);
  expect(taken).toEqual(["a", "d", "b", "c", undefined]);
  expect(lines.get("many", "uid-a")).toBe(undefined);
});
