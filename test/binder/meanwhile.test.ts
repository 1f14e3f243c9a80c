/** What is written about a claim that changes while it is written: only what was decided by what the claim is now. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import { aPool, COUNTED, STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { watchedClaims } from "../watchedclaims.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aWorld, broken, isBlind, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

type Asked = { method: string; path: string };
const isStatus = ({ method, path }: Asked) => method === "PUT" && path.endsWith("/status");
const isNote = ({ method, path }: Asked) => method === "PATCH" && path.endsWith("/sandboxclaims/c");

/** Objects of a kind are listed once, and then nothing is heard of them. */
const isDeafTo = (resource: string): ApiFault => ({ method, path }) =>
  method === "WATCH" && path.endsWith(`/${resource}`) ? { status: 500, body: {} } : undefined;

/** Puts the claim with other metadata or another spec, as its owner would. */
async function change(metadata: object, spec?: object): Promise<void> {
  const [claim] = world.claims();
  const put = { ...claim, metadata: { ...claim!.metadata, ...metadata }, ...(spec && { spec }) };
  await world.store.put(put as never);
}

test("a claim whose owner takes its annotations away while its status is written is not Ready without them", async () => {
  world = await aWorld();
  await world.members([1]);
  const seen = watchedClaims(world.server);
  const isFirst = once(isStatus);
  await world.binder(undefined, async (request, send) => {
    if (isFirst(request)) await change({ annotations: {} });
    return await send();
  });
  await world.claim("c");
  await world.clock.advance(10_000);
  expect([world.shown(), seen.bare]).toEqual([{ c: "warm-1" }, []]);
});

test("a binder that does not lead any more does not unbind a claim that the next one has bound", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  const bound = (name: string) => ({
    metadata: {
      annotations: {
        "agents.x-k8s.io/controller-first-observed-at": "2026-11-21T11:00:00Z",
        "agents.x-k8s.io/claim-first-ready-at": "2026-11-21T11:00:00Z",
        "agents.x-k8s.io/sandbox-name": name,
      },
    },
    status: { conditions: STATUS.ready.conditions, sandbox: { name, podIPs: STATUS.ready.podIPs } },
  });
  await world.claim("c", bound("gone"));
  const versions = world.versionsOf("c");
  const isFirst = once(isStatus);
  await world.binder(isBlind, async (request, send) => {
    if (isFirst(request)) {
      const member = world.sandboxes().find(({ metadata }) => metadata.name === "warm-2") as Sandbox;
      await world.store.put(boundMember(member, world.claims()[0]!, aTemplate(), new Date(world.clock.now())));
      await world.claim("c", bound("warm-2"));
    }
    return await send();
  });
  await world.clock.advance(10_000);
  expect([world.shown(), versions]).toEqual([{ c: "warm-2" }, ["True DependenciesReady Pod is Ready"]]);
});

test.for(
  [["status", isStatus], ["annotations", isNote]] as const,
)("a claim that turns to a pool that exists while the report (%s) is written does not report the other one", async (
  [, isIt],
) => {
  world = await aWorld();
  await world.members([1], { state: "coming" });
  const isFirst = once(isIt);
  await world.binder(undefined, async (request, send) => {
    if (isFirst(request)) await change({ generation: 2 }, { warmPoolRef: { name: "warm" } });
    return await send();
  });
  const versions = world.versionsOf("c");
  await world.claim("c", { spec: { warmPoolRef: { name: "typo" } } });
  await world.clock.advance(10_000);
  expect(versions.filter((text) => text?.includes("WarmPoolNotFound"))).toEqual([]);
});

test("what was refused to a claim is not reported once its owner has mended the claim", async () => {
  world = await aWorld({ template: aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } }) });
  const isFirst = once(({ method, path }: Asked) => method === "POST" && path.endsWith("/sandboxes"));
  await world.binder(undefined, async (request, send) => {
    if (!isFirst(request)) return await send();
    const [claim] = world.claims();
    const { env: _, ...spec } = claim!.spec;
    await change({ generation: 2 }, spec);
    await world.clock.advance(0);
    return { status: 422, body: { message: 'Sandbox "c" is invalid: env' } };
  });
  const versions = world.versionsOf("c");
  await world.claim("c", { spec: { env: [{ name: "A", value: "1" }] } });
  await world.clock.advance(10_000);
  expect(world.shares()).toEqual({ c: ["c"] });
  expect(versions.filter((text) => text?.includes("ReconcilerError"))).toEqual([]);
});

const PUT_OFF = [["the hook's clock is ahead", 500, 1], ["the expiry is put off afterwards", 3_600_000, 2]] as const;
test.for(PUT_OFF)(
  "a claim that has reported ClaimExpired gets no Sandbox after that: %s",
  async ([, ms, generation]) => {
    world = await aWorld();
    await world.members([1]);
    const shutdownTime = new Date(world.clock.now() + ms).toISOString();
    const spec = { lifecycle: { shutdownTime, shutdownPolicy: "Retain" as const } };
    const message = "Claim expired. Sandbox cleanup initiated.";
    const condition = { ...STATUS.finished.conditions[0]!, reason: "ClaimExpired", message, observedGeneration: 1 };
    await world.claim("c", {
      ...{ metadata: { generation }, spec },
      status: { conditions: [condition], sandbox: { name: "gone" } },
    });
    const versions = world.versionsOf("c");
    await world.binder();
    await world.clock.advance(10_000);
    expect([world.shares(), world.shown()]).toEqual([{ c: [] }, { c: undefined }]);
    expect([...new Set(versions)]).toEqual([`False ClaimExpired ${message}`]);
  },
);

test("a claim of a pool that is being deleted, and stays, says why it is not served", async () => {
  world = await aWorld();
  const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
  await world.store.put({ ...pool, metadata: { ...pool!.metadata, finalizers: ["a/b"] } } as never);
  await world.remove(pool, "SandboxWarmPool");
  await world.binder();
  await world.claim("c");
  await world.clock.advance(600_000);
  expect(world.ready()["c"]).toContain('SandboxWarmPool "warm" is being deleted');
});

const EVIL = "kubernetes.io/evil";
const FORGED = "agents.x-k8s.io/claim-uid";

test.for([
  { what: "a member", spec: {}, members: [1] },
  { what: "a Sandbox of its own", spec: { env: [{ name: "A", value: "1" }] }, members: [] },
])("what a claim asks for after its Sandbox was chosen is checked before it is applied: $what", async (given) => {
  world = await aWorld({ template: aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } }) });
  await world.members(given.members);
  // A new leader looks for what earlier ones have bound, between the choice and the write.
  const isFirst = once(({ path, query }: Asked & { query?: object }) =>
    path.endsWith("/sandboxes") && query !== undefined && "labelSelector" in query
  );
  await world.binder(undefined, async (request, send) => {
    if (isFirst(request)) {
      const labels = { [EVIL]: "1", [FORGED]: "forged" };
      await change({ generation: 2 }, { ...world.claims()[0]!.spec, additionalPodMetadata: { labels } });
      await world.clock.advance(0);
    }
    return await send();
  });
  await world.claim("c", { spec: given.spec });
  await world.clock.advance(10_000);
  expect(isFirst({ method: "", path: "/sandboxes", query: { labelSelector: "" } }), "it was changed").toBe(false);
  for (const { spec } of world.sandboxes()) expect(spec.podTemplate.metadata?.labels ?? {}).not.toHaveProperty([EVIL]);
  expect([world.shares(), world.ready()["c"]]).toEqual([{ c: [] }, expect.stringMatching(/^False InvalidMetadata /)]);
});

test("a pool that is created while the claim is annotated is not reported as missing", async () => {
  world = await aWorld({ pool: null });
  const isFirst = once(isNote);
  await world.binder((request) => isDeafTo("sandboxwarmpools")(request), async (request, send) => {
    if (isFirst(request)) await world.store.put(aPool({ status: COUNTED }));
    return await send();
  });
  const versions = world.versionsOf("c");
  await world.claim("c");
  await world.clock.advance(10_000);
  expect(versions.filter((text) => text?.includes("WarmPoolNotFound"))).toEqual([]);
});

test("a claim whose problem was over when the API server was asked is looked at again", async () => {
  world = await aWorld({ pool: null });
  // The watch never shows the pool that exists for a moment.
  const isFirst = once(({ method, path }: Asked) => method === "GET" && path.endsWith("/sandboxwarmpools/warm"));
  const pool = aPool({ status: COUNTED });
  await world.binder((request) => isFirst(request) ? { status: 200, body: pool } : undefined);
  // Nothing is annotated, so nothing about the claim changes.
  await world.claim("c", {
    metadata: { annotations: { "agents.x-k8s.io/controller-first-observed-at": "2026-11-21T11:00:00Z" } },
  });
  await world.clock.advance(60_000);
  expect(world.ready()).toEqual({ c: 'False WarmPoolNotFound SandboxWarmPool "warm" not found' });
});

test("a claim that has reported the end of its Sandbox gets no other, though the watch has not shown that", async () => {
  world = await aWorld();
  await world.members([1, 2]);
  await world.claim("c");
  const isBound = once(isStatus);
  // The status lands, its answer is lost, and the watch shows no change of the claim.
  await world.binder(isDeafTo("sandboxclaims"), async (request, send) => {
    const answer = await send();
    if (isBound(request)) throw broken;
    return answer;
  });
  expect(world.shown()).toEqual({ c: "warm-1" });
  const failed = { conditions: STATUS.finished.conditions, sandbox: { name: "warm-1" } };
  await world.claim("c", { status: failed });
  const bound = world.sandboxes().find(({ metadata }) => metadata.name === "warm-1");
  await world.remove(bound, "Sandbox");
  await world.clock.advance(10_000);
  expect([world.shares(), world.claims()[0]?.status]).toEqual([{ c: [] }, failed]);
});
