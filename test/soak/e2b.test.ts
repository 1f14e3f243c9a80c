/** Killed replicas of E2B's API and of the router, while 200 sandboxes live (`HOOKBOX_TEST_SANDBOXES`). @module */
import process from "node:process";
import { onTestFinished, test } from "vitest";
import { killInTurn } from "../integration/e2bkilled.ts";
import { startReplicas } from "../integration/e2breplicas.ts";

const SANDBOXES = Number(process.env["HOOKBOX_TEST_SANDBOXES"] ?? 200);

test(`replicas of E2B's API and routers that are killed in turn lose none of ${SANDBOXES} sandboxes`, async () => {
  const world = await startReplicas(20);
  onTestFinished(() => world.down());
  await killInTurn(world, SANDBOXES);
});
