/** The binder's account lacks a right: every waiting claim reports which one, and no member is left out. @module */
import { afterEach, expect, test } from "vitest";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aPool, COUNTED } from "../pools.ts";
import { forbidden, rightOf, wordsFor } from "../rights.ts";
import { aTemplate } from "../templates.ts";
import { aWorld } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const env = [{ name: "LARGE", value: "x".repeat(140 * 1024) }];
const LARGE = aTemplate({
  spec: {
    envVarsInjectionPolicy: "Allowed",
    podTemplate: { spec: { containers: [{ name: "main", image: "busybox", env }] } },
  },
});

test.for([
  { right: "get sandboxtemplates.extensions.agents.x-k8s.io", template: LARGE, members: [1, 2], own: false },
  { right: "update sandboxes.agents.x-k8s.io", template: undefined, members: [1, 2], own: false },
  { right: "create sandboxes.agents.x-k8s.io", template: LARGE, members: [], own: true },
  { right: "create sandboxes.agents.x-k8s.io", template: LARGE, members: [1, 2], own: true },
])("without the right to $right claims say so, and are served when it is there", async (given) => {
  const { right, template, members, own } = given;
  world = await aWorld({ ...(template && { template }), pool: aPool({ status: COUNTED }) });
  await world.members(members);
  let isLacking = true;
  const fault: ApiFault = (request) => {
    const asked = rightOf(request);
    return isLacking && asked && wordsFor(asked) === right ? forbidden(asked, "binder") : undefined;
  };
  await world.binder(fault);
  const spec = own ? { env: [{ name: "A", value: "1" }] } : {};
  for (const name of ["a", "b"]) await world.claim(name, { spec: { warmPoolRef: { name: "warm" }, ...spec } });
  await world.clock.advance(3000);
  for (const { metadata: { name } } of world.claims()) {
    expect(world.ready()[name]).toMatch(
      `False ReconcilerError Error seen: the installation of hookbox lacks the right to ${right}: `,
    );
  }
  isLacking = false;
  await world.clock.advance(120_000);
  const want = own
    ? { a: ["a"], b: ["b"] }
    : { a: [expect.stringMatching(/^warm-/)], b: [expect.stringMatching(/^warm-/)] };
  expect(world.shares()).toEqual(want);
});
