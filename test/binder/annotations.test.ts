/** When the binder annotates a claim, and with what: always before the claim is Ready, also if a binder is killed in between. @module */
import { afterEach, expect, test } from "vitest";
import type { Answer, ApiRequest } from "../../packages/kube/api.ts";
import { aPool, COUNTED, STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { watchedClaims } from "../watchedclaims.ts";
import { type Around, aWorld, broken, losing, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const ENV = { env: [{ name: "A", value: "1" }] };

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

test("a claim that is given a member is annotated along with it, once, and Ready after both: three writes in all", async () => {
  await begin([1]);
  await world.claim("c");
  await world.clock.advance(60_000);
  expect(Object.keys(notesOf()).toSorted()).toEqual([READY_AT, OBSERVED, SANDBOX_NAME]);
  expect(world.shown()).toEqual({ c: "warm-1" });
  expect(world.asked.filter((line) => line.includes("sandboxclaims") || line.startsWith("PUT"))).toEqual([
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
  { what: "the annotations come late", around: late(isNote), want: 1 },
  { what: "the Sandbox comes late", around: late(isMember) },
  { what: "annotations are refused once", fault: once(isNote), want: 2 },
  { what: "no answer comes to the annotations, which have landed", around: losing(once(isNote)) },
  { what: "the member is lost to another", around: late(isMember), isLost: true },
  {
    what: "a member is refused while its annotations come late",
    members: [1, 2],
    around: late(once(isNote)),
    fault: once(isMember),
    status: 409,
    want: 2,
  },
])("a claim is never Ready without its annotations: $what", async ({ around, fault, isLost, want, ...given }) => {
  const { status = 500, members = isLost ? [1, 2] : [1] } = given;
  await begin(
    members,
    (request) => fault?.(request as ApiRequest) ? { status, body: {} } : undefined,
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

test("a version of a claim that the binder has not seen is not annotated", async () => {
  const answers: number[] = [];
  const isFirst = once(isNote);
  await begin([1], undefined, async (request, send) => {
    if (isFirst(request)) {
      const [claim] = world.claims();
      await world.store.put({ ...claim, metadata: { ...claim?.metadata, labels: { user: "me" } } } as never);
    }
    const answer = await send();
    if (isNote(request)) answers.push(answer.status);
    return answer;
  });
  await world.claim("c");
  await world.clock.advance(60_000);
  expect(answers).toEqual([409, 200]);
  expect(world.shown()).toEqual({ c: "warm-1" });
  expect(notesOf()[SANDBOX_NAME]).toBe("warm-1");
});

/** Lets so many writes of a binder through, and then nothing any more: the next one is lost, or only the answer to it is. */
function killedAfter(writes: number, isLanding: boolean): Around {
  let left = writes;
  return async ({ method }, send) => {
    if (left < 0) throw broken;
    if (method === "GET" || left-- > 0) return await send();
    if (isLanding) await send();
    throw broken;
  };
}

/** Has each Sandbox that has not reported its state report that it is Ready, as if its Pod were. */
async function start() {
  for (const sandbox of world.sandboxes()) {
    if (!sandbox.status?.conditions?.length) await world.store.put({ ...sandbox, status: STATUS.ready } as never);
  }
  await world.clock.advance(500);
}

const scenarios: Record<string, { members: number[]; spec?: object; happens?: () => Promise<unknown> }> = {
  "is given a member": { members: [1, 2, 3] },
  "gets a Sandbox of its own": { members: [], spec: ENV },
  "loses its Sandbox and is given another one": {
    members: [1, 2, 3],
    happens: async () => {
      const lost = world.shares()["c"]?.[0];
      if (lost !== undefined) await world.remove({ metadata: { name: lost } }, "Sandbox");
    },
  },
  "waits for a pool": {
    members: [],
    spec: { warmPoolRef: { name: "late" } },
    happens: async () => {
      await world.clock.advance(2000);
      await world.store.put(aPool({ metadata: { name: "late", uid: "uid-late" }, status: COUNTED }));
    },
  },
};
const kills = Object.keys(scenarios).flatMap((name) =>
  [0, 1, 2, 3, 4, 5, 6, 7].flatMap((writes) => [true, false].map((isLanding) => ({ name, writes, isLanding })))
);
test.for(kills)(
  "a claim that $name, and a binder that is killed after $writes writes: it ends up with one, and is never bare",
  async ({ name, writes, isLanding }) => {
    const { members, spec = {}, happens } = scenarios[name]!;
    await begin(members, undefined, killedAfter(writes, isLanding));
    const seen = watchedClaims(world.server);
    await world.claim("c", { spec });
    await world.clock.advance(500);
    await start();
    await happens?.();
    await world.clock.advance(500);
    await start();
    await world.stop();
    await world.binder();
    await world.clock.advance(10_000);
    await start();
    await world.clock.advance(60_000);
    const [own, ...more] = world.shares()["c"] ?? [];
    expect([own !== undefined, more]).toEqual([true, []]);
    expect([world.shown()["c"], notesOf()[SANDBOX_NAME], seen.bare]).toEqual([own, own, []]);
    // Bound before its Sandbox is Ready: then the claim's hook reports that it is.
    expect(world.ready()["c"]).toMatch(/^(True DependenciesReady|False SandboxNotReady) /);
  },
);

test("a claim whose Sandbox is not Ready yet is annotated with it, but not with when it was Ready", async () => {
  await begin([]);
  const seen = new Date(world.clock.now()).toISOString();
  await world.claim("c", { spec: ENV });
  await world.clock.advance(60_000);
  expect(notesOf()).toEqual({});
  await world.store.put({ ...world.sandboxes()[0], status: STATUS.coming } as never);
  await world.clock.advance(0);
  expect(notesOf()).toEqual({ [OBSERVED]: seen, [SANDBOX_NAME]: "c" });
});

test("a claim that has expired before it was served is annotated with when it was seen, once", async () => {
  await begin([1]);
  await world.claim("c", { spec: { lifecycle: { shutdownTime: "2020-01-01T00:00:00Z" } } });
  await world.clock.advance(60_000);
  expect([Object.keys(notesOf()), annotated(), world.shares()]).toEqual([[OBSERVED], 1, { c: [] }]);
});

test("a claim that was seen before is not annotated anew", async () => {
  await begin([1]);
  const noted = { annotations: { [OBSERVED]: "2026-01-01T00:00:00.000Z" } };
  await world.claim("c", { metadata: noted, spec: { warmPoolRef: { name: "none" } } });
  await world.clock.advance(10_000);
  expect(world.ready()["c"]).toContain("WarmPoolNotFound");
  expect(annotated()).toBe(0);
});

test("a bound claim that loses the annotation by which its hook finds it gets that again, and nothing else", async () => {
  await begin([1]);
  await world.claim("c");
  await world.clock.advance(1000);
  const [claim] = world.claims();
  const { [OBSERVED]: _, ...annotations } = notesOf();
  world.asked.length = 0;
  await world.store.put({ ...claim!, metadata: { ...claim!.metadata, annotations } } as never);
  await world.clock.advance(60_000);
  expect(notesOf()).toEqual({ ...annotations, [OBSERVED]: "2026-01-01T00:00:00.000Z" });
  expect(world.claims()[0]?.status).toEqual(claim?.status);
  expect(world.asked.filter((line) => line.includes("sandboxclaims"))).toEqual(["PATCH sandboxclaims/c"]);
});

test("a binder that was started after a claim was bound restores the time of the binding, not that of its own start", async () => {
  await begin([1]);
  await world.claim("c");
  await world.clock.advance(1000);
  const [claim] = world.claims();
  const { [OBSERVED]: _, ...annotations } = notesOf();
  await world.stop();
  await world.store.put({ ...claim!, metadata: { ...claim!.metadata, annotations } } as never);
  await world.clock.advance(3_600_000);
  await world.binder();
  expect(notesOf()[OBSERVED]).toBe("2026-01-01T00:00:00.000Z");
});
