/**
 * Measures the time from `create` to the end of the first command, with the SDK, as a developer of an agent would see
 * it. @module
 */
import { sendAll } from "../load/send.ts";
import { percentile } from "../report/percentiles.ts";
import type { Sample } from "../result.ts";
import type { Arena, Outcome } from "./arena.ts";
import { leftoverFaults } from "./checks.ts";
import { fillPools, poolOf } from "./ground.ts";
import type { Shape } from "./shape.ts";

/** Runs a shape with the SDK. A sample is the time from the call of `create` to the end of the command. */
export async function runSDK(arena: Arena, shape: Shape): Promise<Outcome> {
  const { say, sdk } = arena;
  if (!sdk) throw new Error("Cannot use the SDK: this stage has no node that runs hookbox's runtime");
  await fillPools(arena, shape);
  say(`${shape.count} sandboxes with a command each …`);
  const samples: Sample[] = [];
  const created: number[] = [];
  const violations: string[] = [];
  await arena.measure((begun) =>
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
  violations.push(...await leftoverFaults(arena, shape));
  const figures = [50, 95, 99].flatMap((p) => {
    const ms = percentile(created, p);
    return ms === undefined ? [] : [[`p${p} ms of create`, ms] as const];
  });
  return { asked: shape.count, samples, figures: Object.fromEntries(figures), violations };
}
