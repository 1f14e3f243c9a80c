/** A claim that cannot be served reports why: once that lasts, and the API server itself confirms it. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aPool, COUNTED, type Over, STATUS } from "../pools.ts";
import { aPolicy, aTemplate } from "../templates.ts";
import { aWorld, broken, isBlind, once } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

type Options = NonNullable<Parameters<typeof aWorld>[0]>;

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const ENV = { spec: { env: [{ name: "A", value: "1" }] } };
const NO_POOL = 'False WarmPoolNotFound SandboxWarmPool "warm" not found';
const NO_TEMPLATE = 'False TemplateNotFound SandboxTemplate "python" not found';
const statusWrites = () => world.asked.filter((line) => line === "PUT sandboxclaims/c/status").length;
const ofClaim = () => world.asked.filter((line) => line.includes("sandboxclaims/c"));
/** Objects of a kind are listed once, and then nothing is heard of them. */
const isDeaf = (resource: string): ApiFault => ({ method, path }) =>
  method === "WATCH" && path.endsWith(`/${resource}`) ? { status: 500, body: {} } : undefined;

/** Puts the NetworkPolicy of the stored template into the store. */
async function putPolicy() {
  const [template] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxTemplate");
  const { uid = "", generation } = template!.metadata;
  const policy = aPolicy();
  const [owner] = policy.metadata.ownerReferences ?? [];
  const annotations = { ...policy.metadata.annotations, "agents.x-k8s.io/template-generation": `${uid}/${generation}` };
  await world.store.put(aPolicy({ metadata: { annotations, ownerReferences: [{ ...owner, uid }] } }));
}

async function begin({ members = [], fault, ...options }: Options & { members?: number[]; fault?: ApiFault } = {}) {
  world = await aWorld(options);
  await world.members(members);
  await world.binder(fault);
}

const problems: { name: string; claim?: Over; options: Options & { members?: number[] }; want: string | RegExp }[] = [
  { name: "its pool is missing", options: { pool: null }, want: NO_POOL },
  { name: "the template is missing", options: { template: null }, want: NO_TEMPLATE },
  {
    name: "its metadata is not allowed",
    claim: { spec: { additionalPodMetadata: { labels: { app: "x" } } } },
    options: { members: [1] },
    want: /^False InvalidMetadata invalid additionalPodMetadata: failed to validate label "app": /,
  },
  {
    name: "its variables are not allowed",
    claim: ENV,
    options: { members: [1] },
    want: /^False EnvVarsInjectionRejected /,
  },
  {
    name: "its volumes are not allowed",
    claim: { spec: { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] } },
    options: { members: [1] },
    want: /^False VolumeClaimTemplatesError /,
  },
  {
    name: "the NetworkPolicy is missing",
    options: { members: [1], templateNetworkPolicy: "required" },
    want: /^False ReconcilerError No sandbox of SandboxTemplate "python" starts without its NetworkPolicy: /,
  },
];
test.for(problems)("$name: the claim reports that once, a second and a half after it was seen", async (given) => {
  const { claim, options, want } = given;
  await begin(options);
  const versions = world.versionsOf("c");
  const seen = new Date(world.clock.now()).toISOString();
  await world.claim("c", claim);
  await world.clock.advance(1490);
  expect([versions, ofClaim()]).toEqual([[undefined], []]);
  await world.clock.advance(20);
  expect(world.ready()["c"]).toMatch(want);
  await world.clock.advance(3_600_000);
  expect(versions).toEqual([undefined, world.ready()["c"]]);
  expect(ofClaim()).toEqual(["PATCH sandboxclaims/c", "PUT sandboxclaims/c/status"]);
  expect(world.claims()[0]?.metadata.annotations).toEqual({ "agents.x-k8s.io/controller-first-observed-at": seen });
  expect([world.shares(), world.claims()[0]?.status?.sandbox]).toEqual([{ c: [] }, undefined]);
});

test("objects of a folder that are applied in any order cause no report, and the claim is bound at once", async () => {
  await begin({ pool: null, template: null });
  const versions = world.versionsOf("c");
  await world.claim("c");
  await world.clock.advance(500);
  await world.store.put(aPool({ status: COUNTED }));
  await world.clock.advance(500);
  await world.store.put(aTemplate());
  await world.clock.advance(100);
  expect(world.shares()).toEqual({ c: ["c"] });
  await world.store.put({ ...world.sandboxes()[0], status: STATUS.ready } as never);
  await world.clock.advance(0);
  expect(world.shown()).toEqual({ c: "c" });
  await world.clock.advance(10_000);
  expect(versions).toEqual([undefined, "True DependenciesReady Pod is Ready"]);
});

test("a claim whose problem ends before it is reported is bound to a member at once", async () => {
  await begin({ members: [1], templateNetworkPolicy: "required" });
  await world.claim("c");
  await world.clock.advance(1000);
  await putPolicy();
  await world.clock.advance(0);
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }]);
});

test("a problem that takes the place of another one is reported after it has lasted as long", async () => {
  await begin({ pool: null, template: null });
  const versions = world.versionsOf("c");
  await world.claim("c");
  await world.clock.advance(2000);
  await world.store.put(aPool({ status: COUNTED }));
  await world.clock.advance(1490);
  expect(world.ready()).toEqual({ c: NO_POOL });
  await world.clock.advance(20);
  expect([world.ready(), versions]).toEqual([{ c: NO_TEMPLATE }, [undefined, NO_POOL, NO_TEMPLATE]]);
});

test("a claim that was not served reports how its Sandbox is as soon as it has one", async () => {
  await begin({ template: null });
  const versions = world.versionsOf("c");
  await world.claim("c");
  await world.clock.advance(60_000);
  await world.store.put(aTemplate());
  await world.clock.advance(0);
  expect([world.shown(), world.ready()]).toEqual([{ c: "c" }, { c: "False SandboxNotReady Sandbox is not ready" }]);
  expect(versions).toEqual([undefined, NO_TEMPLATE, "False SandboxNotReady Sandbox is not ready"]);
});

test("a claim that asks for something else is served, and reports nothing of what it asked for", async () => {
  await begin({ members: [1] });
  await world.claim("c", ENV);
  await world.clock.advance(60_000);
  expect(world.ready()["c"]).toContain("EnvVarsInjectionRejected");
  await world.claim("c", { metadata: { generation: 2 } });
  await world.clock.advance(0);
  expect([world.shown(), world.ready()]).toEqual([{ c: "warm-1" }, { c: "True DependenciesReady Pod is Ready" }]);
});

const late = [
  ["pool", "sandboxwarmpools", { pool: null }, aPool({ status: COUNTED })],
  ["template", "sandboxtemplates", { template: null, pool: aPool({ status: COUNTED }) }, aTemplate()],
  ["NetworkPolicy", "networkpolicies", { templateNetworkPolicy: "required" }, undefined],
] as const;
test.for(late)(
  "a %s that the watch does not show is not reported as missing",
  async ([, resource, options, object]) => {
    await begin({ ...options, fault: isDeaf(resource) });
    await (object ? world.store.put(object) : putPolicy());
    await world.claim("c");
    await world.clock.advance(60_000);
    expect([world.ready(), statusWrites()]).toEqual([{ c: undefined }, 0]);
  },
);

test("a pool that the watch does not show, and which has a problem of its own, is not reported as missing", async () => {
  await begin({ pool: null, template: null, fault: isDeaf("sandboxwarmpools") });
  await world.store.put(aPool({ status: COUNTED }));
  await world.claim("c");
  await world.clock.advance(60_000);
  expect([world.ready(), statusWrites()]).toEqual([{ c: undefined }, 0]);
});

test("a claim that has a Sandbox which the watch does not show does not report that it is not served", async () => {
  world = await aWorld({ template: null });
  await world.members([1]);
  const claim = await world.claim("c", ENV);
  await world.store.put(boundMember(world.sandboxes()[0] as Sandbox, claim, aTemplate(), new Date(0)));
  const empty = { status: 200, body: { items: [], metadata: { resourceVersion: "1" } } };
  await world.binder((request) =>
    request.path.endsWith("/sandboxes") && request.query?.["limit"] ? empty : isBlind(request)
  );
  await world.clock.advance(60_000);
  expect([world.ready(), statusWrites()]).toEqual([{ c: undefined }, 0]);
});

test("many claims without a pool are looked at a few at a time, and hold up nobody in another namespace", async () => {
  world = await aWorld({ pool: null });
  let [running, most] = [0, 0];
  await world.binder(undefined, async ({ method, path }, send) => {
    if (method !== "GET" || !path.includes("/sandboxwarmpools/")) return await send();
    most = Math.max(most, ++running);
    await new Promise<void>((fulfil) => world.clock.setTimeout(fulfil, 100));
    running--;
    return await send();
  });
  for (let index = 0; index < 40; index++) await world.claim(`c-${index}`);
  await world.claim("other", { metadata: { namespace: "team-b" } });
  await world.clock.advance(1750);
  expect([most, world.ready()["other"]]).toEqual([4, NO_POOL]);
  await world.clock.advance(10_000);
  expect(new Set(Object.values(world.ready()))).toEqual(new Set([NO_POOL]));
});

test("a problem that the API server does not confirm, because it fails, is confirmed later", async () => {
  let isDown = true;
  let looks = 0;
  await begin({
    pool: null,
    fault: ({ method, path }) => {
      if (method !== "GET" || !path.endsWith("/sandboxwarmpools/warm")) return undefined;
      looks++;
      return isDown ? broken : undefined;
    },
  });
  await world.claim("c");
  await world.clock.advance(60_000);
  expect([world.ready(), statusWrites()]).toEqual([{ c: undefined }, 0]);
  expect(looks, "less and less often").toBeLessThan(8);
  isDown = false;
  await world.clock.advance(60_000);
  expect(world.ready()).toEqual({ c: NO_POOL });
});

test("what the API server refuses is reported at once", async () => {
  const fault = once(({ method }: { method: string }) => method === "POST");
  await begin({
    template: OPEN,
    fault: (request) => fault(request) ? { status: 403, body: { message: "exceeded quota" } } : undefined,
  });
  await world.claim("c", ENV);
  await world.clock.advance(0);
  expect(world.ready()).toEqual({ c: "False ReconcilerError Error seen: create sandbox: exceeded quota" });
  await world.clock.advance(1000);
  expect([world.shown(), statusWrites()]).toEqual([{ c: "c" }, 2]);
});

test("conditions of others stay", async () => {
  await begin({ pool: null });
  const mine = {
    type: "example.com/Mine",
    status: "True",
    reason: "Mine",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  await world.claim("c", { status: { conditions: [mine] } });
  await world.clock.advance(2000);
  expect(world.claims()[0]?.status?.conditions?.map(({ type }) => type)).toEqual(["Ready", "example.com/Mine"]);
});

test("a claim that may not be annotated still reports why it is not served", async () => {
  await begin({
    pool: null,
    fault: ({ method }) => method === "PATCH" ? { status: 403, body: { message: "no" } } : undefined,
  });
  await world.claim("c");
  await world.clock.advance(2000);
  expect(world.ready()).toEqual({ c: NO_POOL });
});
