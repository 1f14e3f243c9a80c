/** The binder keeps only a part of the largest claims, members, templates and pools, and serves claims as usual. @module */
import { afterEach, describe, expect, test } from "vitest";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../../packages/api/sandboxclaim.ts";
import type { Api } from "../../../packages/kube/api.ts";
import { createBinding } from "../../../packages/binder/binder.ts";
import { boundMember } from "../../../packages/binder/boundsandbox.ts";
import { aClaim, aMember, aPool, COUNTED, STATUS } from "../../pools.ts";
import { liveBytes } from "../../heap.ts";
import { aTemplate } from "../../templates.ts";
import { aWorld } from "../world.ts";

let world: Awaited<ReturnType<typeof aWorld>> | undefined;
afterEach(() => world?.stop());

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const manyVariables = (count: number) => ({
  env: Array.from({ length: count }, (_, index) => ({ name: `A${index}`, value: "" })),
});
const noted = { spec: { additionalPodMetadata: { annotations: { note: "x".repeat(20_000) } } } };
const asked = (what: string) => world?.asked.filter((line) => line.startsWith(what));

/** Bytes that a binder holds for each of the claims which it is shown, as they come from a watch. */
async function bytesEach(claims: SandboxClaim[], show: (binding: ReturnType<typeof createBinding>) => void) {
  const texts = claims.map((claim) => JSON.stringify(claim));
  const send: Api["send"] = () => Promise.resolve({ status: 200, body: {} });
  const binding = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
  });
  const term = new AbortController();
  const before = liveBytes();
  for (const text of texts) binding.handlers.sandboxclaims.observe(JSON.parse(text));
  show(binding);
  binding.listed();
  const serving = binding.serve(term.signal);
  const each = (liveBytes() - before) / texts.length;
  term.abort();
  await serving;
  return each;
}

test("claims of more than a megabyte take little memory, of whichever pool they are", async () => {
  const claims = Array.from(
    { length: 20 },
    (_, index) => aClaim(`c-${index}`, { spec: { ...manyVariables(40_000), warmPoolRef: { name: "none" } } }),
  );
  expect(JSON.stringify(claims[0]).length).toBeGreaterThan(1_000_000);
  expect(await bytesEach(claims, () => {})).toBeLessThan(500_000);
});

test("of a bound claim no more is kept than what is read of it", async () => {
  const metadata = { annotations: { "agents.x-k8s.io/controller-first-observed-at": "2026-01-01T00:00:00.000Z" } };
  const claims = Array.from({ length: 200 }, (_, index) => {
    const status = { sandbox: { name: `warm-${(index + 1).toString(36)}` }, conditions: STATUS.ready.conditions };
    return aClaim(`c-${index}`, { metadata, spec: manyVariables(400), status });
  });
  const each = await bytesEach(claims, ({ handlers }) => {
    for (const [index, claim] of claims.entries()) {
      handlers.sandboxes.observe(boundMember(aMember(index + 1), claim, OPEN, new Date()));
    }
  });
  expect(each).toBeLessThan(10_000);
});

test("a large claim is asked for once, and given a member with all that it adds", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder();
  await world.claim("c", noted);
  await world.clock.advance(0);
  const [sandbox] = world.sandboxes();
  expect([world.shares(), world.shown()]).toEqual([{ c: ["warm-1"] }, { c: "warm-1" }]);
  expect(sandbox?.spec.podTemplate.metadata?.annotations?.["note"]).toHaveLength(20_000);
  expect(asked("GET sandboxclaims"), "the answer to its annotations shows the rest").toHaveLength(1);
});

test("one with variables gets a Sandbox of its own with all of them, and no member is missing for that time", async () => {
  world = await aWorld({ template: OPEN });
  await world.members([1]);
  await world.binder();
  await world.claim("large", { spec: manyVariables(1000) });
  await world.claim("small");
  await world.clock.advance(0);
  expect(world.shares()).toEqual({ large: ["large"], small: ["warm-1"] });
  const own = world.sandboxes().find(({ metadata }) => metadata.name === "large");
  expect(own?.spec.podTemplate.spec.containers[0]?.env).toHaveLength(1000);
});

test("an ordinary claim is not asked for", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder();
  await world.claim("c");
  await world.clock.advance(5000);
  expect([world.shares(), asked("GET")]).toEqual([{ c: ["warm-1"] }, []]);
});

test("one that asks for what it may not have is looked at as it changes, and again when the template allows it", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder();
  await world.claim("c", { spec: manyVariables(1000) });
  await world.clock.advance(60_000);
  expect(world.shares()).toEqual({ c: [] });
  // As it comes, for its report, and after the back-off, because the report has changed it.
  expect(asked("GET sandboxclaims")?.length).toBe(3);
  await world.store.put(OPEN);
  await world.clock.advance(5000);
  expect(world.shares()).toEqual({ c: ["c"] });
});

test("one that is gone by then is given nothing, and is not asked for without end", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder(({ method, path }) =>
    method === "GET" && path.endsWith("/sandboxclaims/c") ? { status: 404, body: {} } : undefined
  );
  await world.claim("c", noted);
  await world.clock.advance(60_000);
  expect(world.shares()).toEqual({ c: [] });
  expect(asked("GET sandboxclaims")?.length).toBeLessThan(10);
});

test("a claim that loses its Sandbox is given the next with all that it asks for, though that was no longer in memory", async () => {
  world = await aWorld({ pool: aPool({ status: COUNTED }) });
  await world.members([1, 2]);
  await world.binder();
  await world.claim("c", { spec: { additionalPodMetadata: { annotations: { note: "kept" } } } });
  await world.clock.advance(5000);
  await world.remove(world.sandboxes().find(({ metadata }) => metadata.name === "warm-1"), "Sandbox");
  await world.clock.advance(5000);
  expect(world.shares()).toEqual({ c: ["warm-2"] });
  const next = world.sandboxes().find(({ metadata }) => metadata.name === "warm-2");
  expect(next?.spec.podTemplate.metadata?.annotations).toMatchObject({ note: "kept" });
});

/** A Pod spec of more than 128 KiB, with many small parts. */
const LARGE_POD = {
  containers: [{ name: "main", image: "python", ...manyVariables(10_000) }],
};
const LARGE = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed", podTemplate: { spec: LARGE_POD } } });

/** Bytes that a binder holds for each of the objects which it is shown, as they come from a watch. */
function bytesOfEach(objects: object[], kind: "sandboxes" | "sandboxtemplates" | "sandboxwarmpools"): number {
  const texts = objects.map((object) => JSON.stringify(object));
  const send: Api["send"] = () => Promise.resolve({ status: 200, body: {} });
  const { handlers } = createBinding({ send } as Api, {
    log: () => {},
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional",
  });
  const before = liveBytes();
  for (const text of texts) handlers[kind].observe(JSON.parse(text));
  const each = (liveBytes() - before) / texts.length;
  expect(JSON.stringify(objects[0]).length).toBeGreaterThan(200_000);
  expect(handlers).toBeDefined();
  return each;
}

const numbers = Array.from({ length: 20 }, (_, index) => index + 1);

test.for(
  [
    ["members", "sandboxes", (number: number) => aMember(number, { spec: { podTemplate: { spec: LARGE_POD } } })],
    ["templates", "sandboxtemplates", (number: number) => ({
      ...LARGE,
      metadata: { ...LARGE.metadata, name: `t-${number}`, uid: `uid-${number}` },
    })],
    ["pools", "sandboxwarmpools", (number: number) => {
      const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`a.example/label-${index}`, ""]));
      return aPool({ metadata: { name: `p-${number}`, uid: `uid-${number}`, labels } });
    }],
  ] as const,
)("large %s take little memory", ([, kind, make]) => {
  expect(bytesOfEach(numbers.map((number) => make(number)), kind)).toBeLessThan(100_000);
});

describe("a pool whose template is large", () => {
  async function begin(...members: number[]) {
    world = await aWorld({ template: LARGE });
    await world.members(members, {
      spec: { podTemplate: { spec: LARGE_POD } },
      applied: { spec: { podTemplate: { spec: LARGE_POD } } },
    });
  }
  const large = () =>
    world?.sandboxes().filter(({ spec }) => spec.podTemplate.spec.containers[0]?.env?.length === 10_000);

  test("its members are given whole, and it makes their replacements by itself", async () => {
    await begin(1, 2);
    await world?.binder();
    for (const name of ["c", "d"]) await world?.claim(name);
    await world?.clock.advance(3000);
    expect([world?.shares(), world?.faults()]).toEqual([{ c: ["warm-1"], d: ["warm-2"] }, []]);
    expect(large()).toHaveLength(2);
    expect(asked("POST")).toEqual([]);
    expect(asked("PATCH sandboxwarmpools")).not.toEqual([]);
  });

  test("a claim with variables gets a Sandbox of its own, with all that the template says", async () => {
    await begin(1);
    await world?.binder();
    await world?.claim("c", { spec: { env: [{ name: "MINE", value: "1" }] } });
    await world?.clock.advance(0);
    expect(world?.shares()).toEqual({ c: ["c"] });
    const own = world?.sandboxes().find(({ metadata }) => metadata.name === "c");
    expect(own?.spec.podTemplate.spec.containers[0]?.env).toHaveLength(10_001);
  });

  test("a member that is another by now is not given; the next one is", async () => {
    await begin(1, 2);
    await world?.binder(() => undefined, async ({ method, path }, send) => {
      const answer = await send();
      if (method !== "GET" || !path.endsWith("/warm-1")) return answer;
      const { metadata, ...rest } = answer.body as Sandbox;
      return { ...answer, body: { ...rest, metadata: { ...metadata, resourceVersion: "9999" } } };
    });
    await world?.claim("c");
    await world?.clock.advance(0);
    expect(world?.shares()).toEqual({ c: ["warm-2"] });
  });

  test("a member whose Pod would not stay as it is is given to nobody", async () => {
    await begin();
    await world?.members([1], {
      spec: { podTemplate: { spec: LARGE_POD } },
      applied: { spec: { podTemplate: { spec: { containers: [{ name: "main", image: "other" }] } } } },
    });
    await world?.binder();
    await world?.claim("c");
    await world?.clock.advance(10_000);
    expect(world?.shares()).toEqual({ c: ["c"] });
  });

  test("where it is gone by then, its members still serve, and nobody asks without end", async () => {
    await begin(1);
    await world?.binder(({ method, path }) =>
      method === "GET" && path.endsWith("/sandboxtemplates/python") ? { status: 404, body: {} } : undefined
    );
    for (const name of ["c", "d"]) await world?.claim(name);
    await world?.clock.advance(60_000);
    expect(world?.shares()).toEqual({ c: ["warm-1"], d: [] });
    expect(asked("GET sandboxtemplates")?.length).toBeLessThan(20);
  });
});
