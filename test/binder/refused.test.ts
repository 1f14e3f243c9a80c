/** Whom a refused binding is held against: a member that nobody may have, or a claim that may have none. @module */
import { afterEach, expect, test } from "vitest";
import type { ApiRequest } from "../../packages/kube/api.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aTemplate } from "../templates.ts";
import { aWorld } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

type Request = Omit<ApiRequest, "method"> & { method: string };
const puts = () => world.asked.filter((line) => line.startsWith("PUT sandboxes/")).map((line) => line.slice(14));
const refusing = (status: number, holds: (request: Request) => boolean): ApiFault => (request) =>
  holds(request) ? { status, body: { message: "no" } } : undefined;
const isPutOf = (...names: string[]) => ({ method, path }: Request) =>
  method === "PUT" && names.some((name) => path.endsWith(`/sandboxes/${name}`));

/** The API server's own limit of annotations, in bytes of keys and values. */
const isTooLarge = ({ method, body }: Request) => {
  const { metadata } = (body ?? {}) as { metadata?: { annotations?: Record<string, string> } };
  const sizes = Object.entries(metadata?.annotations ?? {}).map((entry) => entry.join("").length);
  return method !== "PATCH" && sizes.reduce((sum, size) => sum + size, 0) > 262_144;
};

async function begin(members: number[], fault: ApiFault, over: Parameters<typeof aWorld>[0] = {}) {
  world = await aWorld(over);
  await world.members(members);
  await world.binder(fault);
}

async function claim(name: string, over: Parameters<typeof world.claim>[1] = {}) {
  await world.claim(name, over);
  await world.clock.advance(2000);
}

test("a member that is refused to a second claim, too, is set aside for a minute, and others are given", async () => {
  let isRefusing = true;
  const isFirst = isPutOf("warm-1");
  await begin([1, 2, 3, 4], refusing(403, (request) => isRefusing && isFirst(request)));
  for (const name of ["c", "d", "e"]) await claim(name);
  expect([world.shares(), puts()]).toEqual([
    { c: ["warm-2"], d: ["warm-3"], e: ["warm-4"] },
    ["warm-1", "warm-2", "warm-1", "warm-3", "warm-4"],
  ]);
  isRefusing = false;
  await world.clock.advance(60_000);
  await claim("f");
  expect(world.shares()).toMatchObject({ f: ["warm-1"] });
});

const LARGE = { spec: { additionalPodMetadata: { annotations: { note: "x".repeat(120 * 1024) } } } };

test("a claim with more annotations than the API server takes costs the pool nothing, and reports why it has none", async () => {
  await begin([1, 2, 3], refusing(422, isTooLarge));
  await claim("evil", LARGE);
  for (const name of ["a", "b"]) await claim(name);
  await world.clock.advance(60_000);
  expect(world.shares()).toEqual({ evil: [], a: ["warm-1"], b: ["warm-2"] });
  expect(puts().filter((name) => name === "warm-2" || name === "warm-3").length, "no member after member").toBeLessThan(
    3,
  );
  expect(world.ready()["evil"]).toBe("False ReconcilerError Error seen: create sandbox: no");
});

test("a trace context that is too long to be one is not copied, and costs its claim nothing either", async () => {
  await begin([1], refusing(422, isTooLarge));
  await claim("c", { metadata: { annotations: { "opentelemetry.io/trace-context": "x".repeat(150 * 1024) } } });
  expect([world.shares(), puts()]).toEqual([{ c: ["warm-1"] }, ["warm-1"]]);
});

test("where no member may be changed, claims get Sandboxes of their own, and members are not tried for ever", async () => {
  await begin([1, 2], refusing(403, isPutOf("warm-1", "warm-2")));
  for (const name of ["c", "d", "e", "f", "g"]) {
    await claim(name);
    await world.clock.advance(5000);
  }
  expect(world.shares()).toEqual({ c: ["c"], d: ["d"], e: ["e"], f: ["f"], g: ["g"] });
  expect(puts(), "the last ones try none").toHaveLength(6);
});

test("without a template it is tried anew a minute later", async () => {
  let isRefusing = true;
  const isMember = isPutOf("warm-1", "warm-2");
  await begin([1, 2], refusing(403, (request) => isRefusing && isMember(request)), { template: null });
  await claim("c");
  await world.clock.advance(30_000);
  expect(puts()).toEqual(["warm-1", "warm-2"]);
  isRefusing = false;
  await world.clock.advance(40_000);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

test("a claim that asks for something else is given members again", async () => {
  await begin([1, 2, 3], refusing(422, isTooLarge));
  await claim("c", LARGE);
  await world.clock.advance(20_000);
  await claim("c", { metadata: { generation: 2 } });
  await world.clock.advance(30_000);
  expect(world.shares()).toEqual({ c: ["warm-1"] });
});

test("a claim that no member is given to, and whose name is too long for a Sandbox of its own, reports that", async () => {
  const template = aTemplate({ spec: { service: true } });
  await begin([1, 2], refusing(422, isPutOf("warm-1", "warm-2")), { template });
  const name = "n".repeat(64);
  await claim(name);
  await world.clock.advance(60_000);
  expect([world.shares()[name], puts().length]).toEqual([[], 2]);
  expect(world.ready()[name]).toMatch(/^False InvalidConfiguration /);
});

test("a Sandbox that an admission policy refuses with 413 is reported", async () => {
  await begin([], refusing(413, ({ method }) => method === "POST"));
  await claim("c", { spec: { volumeClaimTemplates: [] } });
  expect(world.ready()).toEqual({ c: "False ReconcilerError Error seen: create sandbox: no" });
});

test("a webhook that does not answer is reported if that persists, and the claim is served when it is back", async () => {
  const message = 'Internal error occurred: failed calling webhook "a.example.com": connection refused';
  let isDown = true;
  await begin(
    [1],
    ({ method, path }) =>
      isDown && method !== "WATCH" && path.includes("/sandboxes") && ["POST", "PUT"].includes(method)
        ? { status: 500, body: { message } }
        : undefined,
  );
  await claim("c");
  expect(world.ready(), "a restart of a webhook is no news").toEqual({ c: undefined });
  await world.clock.advance(60_000);
  expect(world.ready()["c"]).toMatch(/^False ReconcilerError .*failed calling webhook "a.example.com"/);
  isDown = false;
  await world.clock.advance(31_000);
  expect([world.shares(), world.ready()["c"]]).toEqual([{ c: ["warm-1"] }, "True DependenciesReady Pod is Ready"]);
});
