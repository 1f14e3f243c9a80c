/**
 * Measures the time from a claim to the first command in its Sandbox, through the API server or with the SDK. @module
 */
import { followReady } from "../load/follower.ts";
import { aClaim } from "../load/objects.ts";
import { create, remove, sendAll } from "../load/requests.ts";
import { percentile } from "../report/percentiles.ts";
import type { Sample } from "../result.ts";
import { leftoverFaults } from "./checks.ts";
import { fillPools, poolOf } from "./prepare.ts";
import { PATIENCE, type RunContext, type Shape, type ShapeResult } from "./shape.ts";

/** Runs a shape with commands. A sample is the time from the request for the claim to the end of the command. */
export async function runCommands(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { api, signal, progress, command } = context;
  if (!command) throw new Error("Cannot run commands: this stage has no node that runs containers");
  await fillPools(context, shape);
  const claims = await followReady(api, "sandboxclaims", signal);
  progress(`${shape.count} claims with a command each …`);
  const samples: Sample[] = [];
  const ready: number[] = [];
  const violations: string[] = [];
  await context.measure((begun) =>
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
  violations.push(...await leftoverFaults(context, shape));
  const figures = [50, 99].flatMap((p) => {
    const ms = percentile(ready, p);
    return ms === undefined ? [] : [[`p${p} ms to Ready`, ms] as const];
  });
  return { asked: shape.count, samples, figures: Object.fromEntries(figures), violations };
}

/** Runs a shape with the SDK. A sample is the time from the call of `create` to the end of the command. */
export async function runSDK(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { progress, sdk } = context;
  if (!sdk) throw new Error("Cannot use the SDK: this stage has no node that runs hookbox's runtime");
  await fillPools(context, shape);
  progress(`${shape.count} sandboxes with a command each …`);
  const samples: Sample[] = [];
  const created: number[] = [];
  const violations: string[] = [];
  await context.measure((begun) =>
    sendAll(shape.count, shape.arrivals, async (index, due) => {
      const { namespace, name: pool } = poolOf(shape, index);
      const name = `claim-${index}`;
      try {
        await using sandbox = await sdk.create({ pool, namespace, name });
        created.push(performance.now() - due);
        const { stdout } = await sandbox.commands.run(["echo", name]);
        if (stdout.trim() === name) samples.push({ at: due - begun, ms: performance.now() - due });
        else violations.push(`The first command in ${name} printed ${JSON.stringify(stdout)}`);
      } catch (error) {
        violations.push(`Sandbox ${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    })
  );
  violations.push(...await leftoverFaults(context, shape));
  const figures = [50, 95, 99].flatMap((p) => {
    const ms = percentile(created, p);
    return ms === undefined ? [] : [[`p${p} ms of create`, ms] as const];
  });
  return { asked: shape.count, samples, figures: Object.fromEntries(figures), violations };
}
