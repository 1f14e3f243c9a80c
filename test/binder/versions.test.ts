/** What the binder does if it learns of a claim's versions late, in another order, or after a restore of etcd. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { createBinding } from "../../packages/binder/binder.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { aClaim, aMember, aPool, COUNTED, STATUS } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";
import { aWorld, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>> | undefined;
afterEach(() => world?.stop());

const OBSERVED = { "agents.x-k8s.io/controller-first-observed-at": "2026-11-21T11:00:00Z" };
const OK: Answer = { status: 200, body: {} };

/** A binder that is shown objects by hand. Its requests take 50 ms and are answered by `answer`; absent: 404. */
function aBinding(answer: (request: ApiRequest) => Answer | undefined) {
  const clock = createFakeClock(NOW.getTime());
  const asked: string[] = [];
  const send = async (request: ApiRequest): Promise<Answer> => {
    asked.push(`${request.method} ${request.path.split("/").slice(6).join("/")}`);
    // A loop that never ends would not fail.
    if (asked.length > 500) throw new Error("connection reset");
    await new Promise<void>((fulfil) => clock.setTimeout(fulfil, 50));
    if (request.query?.["labelSelector"]) {
      return { status: 200, body: { items: [], metadata: { resourceVersion: "1" } } };
    }
    return answer(request) ?? { status: 404, body: {} };
  };
  const options = { log: () => {}, allowedLabelDomains: [], templateNetworkPolicy: "optional" as const, clock };
  const { handlers, listed, serve } = createBinding({ send } as unknown as Api, options);
  handlers.sandboxtemplates.observe(aTemplate());
  handlers.sandboxwarmpools.observe(aPool({ status: COUNTED }));
  const end = new AbortController();
  return {
    clock,
    asked,
    handlers,
    begin() {
      listed();
      const serving = serve(end.signal);
      return async () => {
        end.abort();
        return await Promise.race([serving.then(() => "ended"), clock.advance(100_000).then(() => "hangs")]);
      };
    },
  };
}

const isBinding = ({ method, path }: ApiRequest) => method === "PUT" && path.includes("/sandboxes/");
const stored = ({ body }: ApiRequest): Answer => {
  const { metadata, ...rest } = body as Sandbox;
  return { status: 200, body: { ...rest, metadata: { ...metadata, resourceVersion: "100" } } };
};

test("a claim that a restore sets back while it is bound gets one Sandbox", async () => {
  const { clock, asked, handlers, begin } = aBinding((request) => isBinding(request) ? stored(request) : undefined);
  for (const number of [1, 2]) handlers.sandboxes.observe(aMember(number));
  const end = begin();
  handlers.sandboxclaims.observe(aClaim("c", { metadata: { resourceVersion: "40" } }));
  await clock.advance(10);
  handlers.sandboxclaims.listing?.();
  handlers.sandboxclaims.observe(aClaim("c", { metadata: { resourceVersion: "20" } }));
  await clock.advance(1000);
  expect(asked.filter((line) => line.startsWith("PUT sandboxes/"))).toHaveLength(1);
  expect(await end()).toBe("ended");
});

test("large claims that a restore sets back while they wait for their turn do not keep the binder from ending", async () => {
  const { clock, handlers, begin } = aBinding(() => undefined);
  const large = { additionalPodMetadata: { annotations: { note: "x".repeat(20_000) } } };
  const claims = (version: number) => {
    for (let index = 0; index < 7; index++) {
      handlers.sandboxclaims.observe(
        aClaim(`c${index}`, { metadata: { resourceVersion: `${version + index}` }, spec: large }),
      );
    }
  };
  const end = begin();
  // Until the watch of Sandboxes is fresh, fewer claims are served at a time than have a worker.
  handlers.sandboxclaims.observe(aClaim("first", { metadata: { resourceVersion: "39" } }));
  await clock.advance(2000);
  for (const number of [2, 3, 4, 5]) {
    handlers.sandboxes.observe(aMember(number, { metadata: { resourceVersion: `${number}` } }));
  }
  claims(50);
  await clock.advance(10);
  handlers.sandboxclaims.listing?.();
  claims(20);
  await clock.advance(100);
  for (const name of ["first", ...Array.from({ length: 7 }, (_, index) => `c${index}`)]) {
    handlers.sandboxclaims.gone(`uid-${name}`);
  }
  await clock.advance(60_000);
  expect(await end()).toBe("ended");
});

test.for(["claim", "Sandbox"])(
  "a claim that had a Sandbox is read before it gets another: its %s was listed first",
  async (first) => {
    const claim = aClaim("c", { metadata: { resourceVersion: "40", annotations: OBSERVED } });
    const { status: _, ...sandbox } = boundMember(aMember(1), claim, aTemplate(), NOW);
    const own = { ...sandbox, metadata: { ...sandbox.metadata, resourceVersion: "30" } } as Sandbox;
    const status = { conditions: STATUS.finished.conditions, sandbox: { name: "warm-1" } };
    const failed = { ...claim, metadata: { ...claim.metadata, resourceVersion: "45" }, status };
    const { clock, asked, handlers, begin } = aBinding((request) =>
      request.method === "GET" && request.path.endsWith("/sandboxclaims/c") ? { status: 200, body: failed } : undefined
    );
    handlers.sandboxes.observe(aMember(2));
    if (first === "claim") handlers.sandboxclaims.observe(claim);
    handlers.sandboxes.observe(own);
    if (first === "Sandbox") handlers.sandboxclaims.observe(claim);
    const end = begin();
    await clock.advance(10);
    handlers.sandboxes.gone("uid-warm-1");
    await clock.advance(1000);
    expect(asked.filter((line) => line.includes("sandboxclaims/"))).toContain("GET sandboxclaims/c");
    expect(asked.filter((line) => line.startsWith("PUT"))).toEqual([]);
    expect(await end()).toBe("ended");
  },
);

test("a creation that the API server answers with 409 without an object of that name is tried less and less often", async () => {
  const { clock, asked, handlers, begin } = aBinding(({ method }) =>
    method === "POST" ? { status: 409, body: {} } : undefined
  );
  const end = begin();
  handlers.sandboxclaims.observe(aClaim("c", { metadata: { creationTimestamp: "2026-11-21T11:00:00Z" } }));
  await clock.advance(60_000);
  expect(asked.filter((line) => line.startsWith("POST")).length).toBeLessThan(8);
  expect(await end()).toBe("ended");
});

/** The watch of a kind shows nothing. */
const isDeafTo = (resource: string): ApiFault => ({ method, path }) =>
  method === "WATCH" && path.endsWith(`/${resource}`) ? { ...OK, status: 500 } : undefined;

test("a claim whose pool is changed while its status is written gets no member of the pool that it asked for before", async () => {
  world = await aWorld();
  await world.members([1]);
  const status = { sandbox: { name: "gone" }, conditions: STATUS.coming.conditions };
  await world.claim("c", { metadata: { annotations: OBSERVED }, status });
  const isFirst = once(({ method, path }: ApiRequest) => method === "PUT" && path.endsWith("/status"));
  await world.binder(isDeafTo("sandboxclaims"), async (request, send) => {
    if (isFirst(request)) {
      const [claim] = world!.claims();
      const metadata = { ...claim!.metadata, generation: 2 };
      await world!.store.put({ ...claim, metadata, spec: { warmPoolRef: { name: "other" } } } as never);
    }
    return await send();
  });
  await world.clock.advance(10_000);
  expect([world.shares(), world.ready()]).toEqual([{ c: [] }, { c: expect.stringContaining("WarmPoolNotFound") }]);
});

test("a claim is Ready as soon as it is bound, although a look at a problem that was over is planned", async () => {
  world = await aWorld({ pool: null });
  let isShown = false;
  // The watch shows the pool late; the API server has it by the time that it confirms the problem.
  const pool = aPool({ status: COUNTED });
  await world.binder((request) => {
    const isPool = request.method === "GET" && request.path.endsWith("/sandboxwarmpools/warm");
    return isPool && !isShown ? { status: 200, body: pool } : undefined;
  });
  await world.claim("c");
  await world.clock.advance(10_000);
  expect(world.ready()).toEqual({ c: undefined });
  isShown = true;
  await world.store.put(pool);
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ c: ["c"] });
  await world.store.put({ ...world.sandboxes()[0], status: STATUS.ready } as never);
  await world.clock.advance(0);
  expect(world.ready()).toEqual({ c: "True DependenciesReady Pod is Ready" });
});

test("a label of the member's template stays, although the template is gone and the claim asks for another value", async () => {
  world = await aWorld();
  await world.members([1]);
  const [member] = world.sandboxes();
  const tier = "sandbox.users.io/tier";
  const { podTemplate } = member!.spec;
  const labels = { ...podTemplate.metadata?.labels, [tier]: "restricted" };
  const spec = { ...member!.spec, podTemplate: { ...podTemplate, metadata: { ...podTemplate.metadata, labels } } };
  await world.store.put({ ...member, spec } as never);
  const [template] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxTemplate");
  const templates = await world.store.resource("extensions.agents.x-k8s.io/v1beta1", "sandboxtemplates");
  await world.store.delete(templates, "team-a", template!.metadata.name, {});
  await world.binder();
  await world.claim("c", { spec: { additionalPodMetadata: { labels: { [tier]: "open" } } } });
  await world.clock.advance(10_000);
  expect([world.shares(), world.ready()["c"]]).toEqual([
    { c: [] },
    expect.stringContaining("metadata override conflict"),
  ]);
  expect(world.sandboxes()[0]?.spec.podTemplate.metadata?.labels?.[tier]).toBe("restricted");
});

test("a problem is reported again for the spec that still has it", async () => {
  world = await aWorld();
  await world.binder();
  const spec = { warmPoolRef: { name: "typo" } };
  await world.claim("c", { spec });
  await world.clock.advance(10_000);
  const [claim] = world.claims();
  const changed = { ...spec, env: [{ name: "A", value: "1" }] };
  await world.store.put({ ...claim, metadata: { ...claim!.metadata, generation: 2 }, spec: changed } as never);
  await world.clock.advance(60_000);
  expect(world.claims()[0]?.status?.conditions?.[0]).toMatchObject({
    reason: "WarmPoolNotFound",
    observedGeneration: 2,
  });
});
