/** What is written about a claim that changes while it is written: only what was decided by what the claim is now. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { handedOver } from "../../packages/binder/handover.ts";
import { STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { watchedClaims } from "../watchedclaims.ts";
import { aWorld, isBlind, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

type Asked = { method: string; path: string };
const isStatus = ({ method, path }: Asked) => method === "PUT" && path.endsWith("/status");
const isNote = ({ method, path }: Asked) => method === "PATCH" && path.endsWith("/sandboxclaims/c");

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
      await world.store.put(handedOver(member, world.claims()[0]!, aTemplate(), new Date(world.clock.now())));
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

test("what was refused to a claim is not reported of the claim that its owner has mended meanwhile", async () => {
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
