/**
 * Claims at 5/s, made and deleted again, while what serves them is killed, slow, wrong, cut off, full or late: none shares
 * a Sandbox, none is lost, nothing is left over. `npm run soak -- faults` takes 1,000 through each
 * (`HOOKBOX_TEST_CLAIMS`), `npm test` none. @module
 */
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claimsThrough, type Harm } from "../faults/claimsthrough.ts";
import { jumps, kills, onFullDisk, weathers, withoutRoom } from "../faults/kinds.ts";
import { type FaultWorld, startFaultWorld } from "../faults/world.ts";

const CLAIMS = Number(process.env["HOOKBOX_TEST_CLAIMS"] ?? 1000);
let world: FaultWorld;
beforeAll(async () => world = await startFaultWorld());
afterAll(() => world?.down());

interface Kind {
  name: string;
  harm: Harm;
}

const KINDS: Kind[] = [
  {
    name: "processes are killed",
    harm: kills(["hooks", "Metacontroller", "keeper", "router", "API server", "etcd"]),
  },
  { name: "hooks are slow and fail", harm: weathers(["slow", "failing"]) },
  { name: "hooks are out of reach", harm: weathers(["refused", "swallowed"]) },
  { name: "etcd has no room", harm: withoutRoom },
  { name: "etcd's disk is full", harm: onFullDisk },
  { name: "clocks jump", harm: jumps },
];

test.for(KINDS)(`${CLAIMS} claims while $name`, { timeout: 1_800_000 }, async ({ harm }) => {
  const outcome = await claimsThrough(world, CLAIMS, harm);
  const { shared, lost, leaked, ...figures } = outcome;
  const counts = { shared: shared.length, lost: lost.length, leaked: leaked.length };
  process.stdout.write(`${JSON.stringify({ ...counts, ...figures })}\n`);
  expect({ shared, lost, leaked }).toEqual({ shared: [], lost: [], leaked: [] });
});
