/** Measures the time from a claim to the first command in its Sandbox, on nodes that run containers. @module */
import { create, remove } from "../load/ask.ts";
import { followReady } from "../load/follower.ts";
import { aClaim } from "../load/objects.ts";
import { sendAll } from "../load/send.ts";
import type { Sample } from "../result.ts";
import { percentile } from "../report/percentiles.ts";
import type { Arena, Outcome } from "./arena.ts";
import { leftoverFaults } from "./checks.ts";
import { fillPools, PATIENCE, poolOf } from "./ground.ts";
import type { Shape } from "./shape.ts";

/** Runs a shape with commands. A sample is the time from the request for the claim to the end of the command. */
export async function runCommands(arena: Arena, shape: Shape): Promise<Outcome> {
  const { api, signal, say, command } = arena;
  if (!command) throw new Error("Cannot run commands: this stage has no node that runs containers");
  await fillPools(arena, shape);
  const claims = await followReady(api, "sandboxclaims", signal);
  say(`${shape.count} claims with a command each …`);
  const samples: Sample[] = [];
  const ready: number[] = [];
  const violations: string[] = [];
  await arena.measure((begun) =>
    sendAll(shape.count, shape.arrivals, async (index, due) => {
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
      // Ready promises that the first request succeeds, so a failure here is a failure of the implementation.
      const answer = await command({ namespace: path.namespace, name, container: "main" }, ["echo", key])
        .catch((error: Error) => error.message);
      if (answer.trim() === key) samples.push({ at: due - begun, ms: performance.now() - due });
      else violations.push(`The first command of claim ${key} failed: ${answer}`);
      await remove(api, path);
    })
  );
  violations.push(...await leftoverFaults(arena, shape));
  const figures = [50, 99].flatMap((p) => {
    const ms = percentile(ready, p);
    return ms === undefined ? [] : [[`p${p} ms to Ready`, ms] as const];
  });
  return { asked: shape.count, samples, figures: Object.fromEntries(figures), violations };
}
