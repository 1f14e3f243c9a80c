/** From a claim to the first command in its Sandbox, on nodes that run containers. @module */
import { create, remove } from "../load/ask.ts";
import { followReady } from "../load/follower.ts";
import { aClaim } from "../load/objects.ts";
import { sendAll } from "../load/send.ts";
import type { Sample } from "../result.ts";
import { percentile } from "../report/percentiles.ts";
import type { Arena, Measured } from "./arena.ts";
import { leftoverFaults } from "./checks.ts";
import { createPools, PATIENCE, poolCount, poolOf, prepareGround, untilFull } from "./ground.ts";
import type { Shape } from "./shape.ts";

/** Runs a shape of commands; a sample is the time from the request for the claim to the command's end. */
export async function runCommands(arena: Arena, shape: Shape): Promise<Measured> {
  const { api, signal, say, command } = arena;
  if (!command) throw new Error("Cannot run commands: this stage has no node that runs containers");
  await prepareGround(arena, shape);
  const pools = await followReady(api, "sandboxwarmpools", signal);
  await createPools(arena, shape);
  if (!await untilFull(pools, shape)) throw new Error("Cannot begin: the pools do not fill");
  const claims = await followReady(api, "sandboxclaims", signal);
  say(`${shape.count} claims with a command each …`);
  await arena.begin();
  const begun = performance.now();
  const samples: Sample[] = [];
  const ready: number[] = [];
  const violations: string[] = [];
  await sendAll(shape.count, shape.arrivals, async (index, due) => {
    const pool = poolOf(shape, index);
    const path = { resource: "sandboxclaims", namespace: pool.namespace, name: `claim-${index}` } as const;
    const key = `${path.namespace}/${path.name}`;
    await create(api, { resource: path.resource, namespace: path.namespace }, aClaim(path.name, pool.name));
    if (!await claims.until(() => claims.readyAt.has(key), PATIENCE)) {
      violations.push(`Claim ${key} was not Ready after ${PATIENCE} s`);
      return;
    }
    ready.push((claims.readyAt.get(key) ?? due) - due);
    const name = claims.objects.get(key)?.status?.sandbox?.name ?? "";
    // Ready promises that the first request gets through: a failure here is one of the implementation.
    const answer = await command({ namespace: path.namespace, name, container: "main" }, ["echo", key])
      .catch((error: Error) => error.message);
    if (answer.trim() === key) samples.push({ at: due - begun, ms: performance.now() - due });
    else violations.push(`The first command of claim ${key} failed: ${answer}`);
    await remove(api, path);
  });
  const seconds = (performance.now() - begun) / 1000;
  await arena.end();
  violations.push(...await leftoverFaults(arena, poolCount(shape) * shape.replicas + shape.standing));
  const figures = { "p50 ms to Ready": percentile(ready, 50) ?? NaN, "p99 ms to Ready": percentile(ready, 99) ?? NaN };
  return { seconds, asked: shape.count, samples, figures, violations };
}
