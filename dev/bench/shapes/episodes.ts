/**
 * Runs episodes as in reinforcement learning: each has a claim of its own, writes a file, runs commands, reads a file,
 * and deletes the claim. All requests to sandboxes go through the router. @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { sendAll } from "../load/requests.ts";
import type { Sample } from "../result.ts";
import { leftoverFaults } from "./checks.ts";
import { fillPools, poolOf } from "./prepare.ts";
import { figuresOf } from "./workloads.ts";
import { type EpisodeAccess, PATIENCE, type RunContext, type Shape, type ShapeResult } from "./shape.ts";

const PROGRAM = fileURLToPath(new URL("../../../examples/batch.py", import.meta.url));
const PERCENTS = [50, 95, 99];
const STEPS = 3;
const STEP = "import sys\nwith open('reward', 'a') as file:\n    print(sys.argv[1], file=file)\n";

/** Times of one episode, in milliseconds. An episode that has failed has an error. */
interface Episode {
  seed: number;
  /** When it began; only differences between episodes count. */
  begun: number;
  ready?: number;
  commands: number[];
  /** All of it, until the claim has been deleted. */
  episode?: number;
  error?: string;
}

/** Runs a shape with episodes. A sample is the time until the sandbox was Ready for its client. */
export async function runEpisodes(context: RunContext, shape: Shape): Promise<ShapeResult> {
  const { access, progress } = context;
  if (!access) throw new Error("Cannot run episodes: this stage has no router in front of hookbox's runtime");
  await fillPools(context, shape);
  progress(`${shape.count} episodes …`);
  const episodes = await context.measure(() =>
    shape.client === "python" ? withPython(context, access, shape) : withSDK(context, access, shape)
  );
  const first = Math.min(...episodes.map(({ begun }) => begun));
  const samples = episodes.flatMap(({ begun, ready }): Sample[] =>
    ready === undefined ? [] : [{ at: begun - first, ms: ready }]
  );
  const violations = episodes.flatMap(({ seed, error }) => error === undefined ? [] : [`Episode ${seed}: ${error}`]);
  violations.push(...await leftoverFaults(context, shape));
  const ends = episodes.flatMap(({ begun, episode }) => episode === undefined ? [] : [begun + episode - first]);
  const figures = {
    ...figuresOf(episodes.flatMap(({ commands }) => commands), PERCENTS, "ms of a command"),
    ...figuresOf(episodes.flatMap(({ episode }) => episode ?? []), PERCENTS, "ms of an episode"),
    ...ends.length === 0 ? {} : { "episodes per second": ends.length / Math.max(...ends) * 1000 },
  };
  return { asked: shape.count, samples, figures, violations };
}

async function withSDK({ signal }: RunContext, { sdk }: EpisodeAccess, shape: Shape): Promise<Episode[]> {
  const episodes: Episode[] = [];
  await sendAll(shape.count, shape.arrivals, async (seed) => {
    signal.throwIfAborted();
    const { namespace, name: pool } = poolOf(shape, seed);
    const begun = performance.now();
    const since = (time: number) => performance.now() - time;
    const found: Episode = { seed, begun, commands: [] };
    episodes.push(found);
    try {
      const sandbox = await sdk.create({ pool, namespace, readyTimeoutMs: PATIENCE * 1000, signal });
      found.ready = since(begun);
      try {
        await sandbox.files.write("step.py", STEP);
        for (let step = 0; step < STEPS; step++) {
          const asked = performance.now();
          await sandbox.commands.run(["python3", "step.py", String(step)], { check: true });
          found.commands.push(since(asked));
        }
        const text = await sandbox.files.read("reward");
        if (text !== "0\n1\n2\n") throw new Error(`the file has ${JSON.stringify(text)}`);
      } finally {
        await sandbox.kill();
      }
      found.episode = since(begun);
    } catch (error) {
      found.error = error instanceof Error ? error.message : String(error);
    }
  });
  return episodes;
}

/** Runs the example, which uses the published client, as a user does. */
async function withPython(
  { signal }: RunContext,
  { kubeconfig, routerUrl, python = "python3" }: EpisodeAccess,
  shape: Shape,
): Promise<Episode[]> {
  if (shape.arrivals.kind !== "burst") throw new RangeError("Cannot run episodes in Python at a rate");
  const folder = mkdtempSync(join(tmpdir(), "hookbox-episodes-"));
  try {
    const times = join(folder, "times.json");
    const { namespace, name } = poolOf(shape, 0);
    const env = {
      ...{ ...process.env, KUBECONFIG: kubeconfig, HOOKBOX_ROUTER_URL: routerUrl, HOOKBOX_NAMESPACE: namespace },
      ...{ HOOKBOX_POOL: name, HOOKBOX_TIMES: times },
    };
    const child = spawn(python, [PROGRAM, String(shape.count), String(shape.arrivals.clients)], {
      env,
      signal,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => errors = (errors + text).slice(-5000));
    // An abort ends the program, and is an error of it.
    const [code] = await once(child, "close", { signal });
    // The program ends with 1 if an episode has failed, and without times if it could not begin.
    if (code !== 0 && code !== 1) throw new Error(`Cannot run ${PROGRAM}: it ended with ${code}\n${errors}`);
    return JSON.parse(readFileSync(times, "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
