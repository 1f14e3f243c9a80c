/**
 * Runs E2B's published SDK and our own in turns on one cluster, both through the same router: one batch of sandboxes by
 * the one, then the pool fills, then a batch by the other. @module
 */
import { Sandbox } from "e2b";
import { RIGHTS } from "../../../packages/api/e2b/objects.ts";
import { createKey } from "../../../packages/cli/project/keys.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import { sendAll } from "../load/requests.ts";
import { percentile, type Sample } from "../result.ts";
import { leftoverFaults } from "./checks.ts";
import { fillPools, poolOf, untilFull } from "./prepare.ts";
import { type RunContext, type Shape, type ShapeResult, usesRuntime } from "./shape.ts";
import { figuresOf } from "./workloads.ts";

/** A sandbox of either SDK. */
interface Made {
  /** Runs a command. @returns what it has printed */
  run(text: string): Promise<string>;
  kill(): Promise<unknown>;
}

const CLIENTS = ["sdk", "e2b"] as const;

/**
 * Runs a shape. A sample is the time of E2B's SDK, from the call of `create` to the end of the first command, or to that
 * of `create` if the shape has no commands. The figures have both SDKs' and their ratio.
 */
export async function runE2B(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { access, api, progress } = context;
  if (!access?.e2b || shape.arrivals.kind !== "burst") {
    throw new Error("Cannot use E2B's SDK: this stage has no such API");
  }
  const pools = await fillPools(context, shape);
  const { namespace, name: pool } = poolOf(shape, 0);
  const options = { ...access.e2b, apiKey: await createKey(api, namespace, "bench", RIGHTS, new Date()) };
  await untilAdmitted(options);
  const make = {
    sdk: () => bySDK(access.sdk, pool, namespace),
    e2b: () => byE2B(pool, options),
  };
  const { clients } = shape.arrivals;
  const hasCommand = usesRuntime(shape);
  const violations: string[] = [];
  const times = { sdk: [] as number[], e2b: [] as number[] };
  const samples: Sample[] = [];
  // The first calls of each SDK compile its code.
  for (const client of CLIENTS) await useOne(await make[client](), hasCommand);
  if (!await untilFull(context, pools, shape)) throw new Error("Cannot begin: the pool does not fill again");
  progress(`${shape.count} sandboxes, ${clients} at a time, in turns …`);
  await context.measure(async (begun) => {
    for (let batch = 0; batch * clients < shape.count; batch++) {
      const client = CLIENTS[batch % 2] ?? "sdk";
      const made: Made[] = [];
      await sendAll(clients, { kind: "burst", clients }, async (_, due) => {
        try {
          const one = await make[client]();
          made.push(one);
          if (hasCommand) await echo(one);
          const ms = performance.now() - due;
          times[client].push(ms);
          if (client === "e2b") samples.push({ at: due - begun, ms });
        } catch (error) {
          violations.push(`A sandbox of ${client}: ${error instanceof Error ? error.message : String(error)}`);
        }
      });
      await Promise.all(made.map((one) => one.kill()));
      if (!await untilFull(context, pools, shape)) violations.push("The pool was not full again in time");
    }
  });
  violations.push(...await leftoverFaults(context, shape));
  const [own, other] = [percentile(times.sdk, 50), percentile(times.e2b, 50)];
  const figures = {
    ...figuresOf(times.sdk, [50, 95], "ms with our SDK"),
    ...figuresOf(times.e2b, [50, 95], "ms with E2B's SDK"),
    ...own === undefined || other === undefined ? {} : { "p50 ratio, E2B's to ours": other / own },
  };
  return { asked: shape.count / 2, samples, figures, violations };
}

async function useOne(one: Made, hasCommand: boolean): Promise<void> {
  if (hasCommand) await echo(one);
  await one.kill();
}

async function echo(one: Made): Promise<void> {
  const printed = await one.run("hello");
  if (printed.trim() !== "hello") throw new Error(`the command printed ${JSON.stringify(printed)}`);
}

async function bySDK(sdk: SandboxClient, pool: string, namespace: string): Promise<Made> {
  const sandbox = await sdk.create({ pool, namespace });
  return {
    run: async (text) => (await sandbox.commands.run(["echo", text])).stdout,
    kill: () => sandbox.kill(),
  };
}

async function byE2B(pool: string, options: { apiUrl: string; sandboxUrl: string; apiKey: string }): Promise<Made> {
  const sandbox = await Sandbox.create(pool, options);
  return {
    run: async (text) => (await sandbox.commands.run(`echo ${text}`)).stdout,
    kill: () => sandbox.kill(),
  };
}

/** Waits until the API has seen the key. */
async function untilAdmitted(options: { apiUrl: string; apiKey: string }): Promise<void> {
  const late = performance.now() + 30_000;
  for (;;) {
    const error = await Sandbox.list(options).nextItems().then(() => undefined, (failure: Error) => failure);
    if (error === undefined) return;
    if (performance.now() > late) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
