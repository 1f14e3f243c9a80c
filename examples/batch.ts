// deno-lint-ignore-file no-console -- programs print
/**
 * Runs a batch of episodes, as in reinforcement learning: for each episode it claims a sandbox, writes a program there,
 * runs it in some steps, reads the reward from a file, and deletes the sandbox. Needs the pool of python.yaml:
 * node batch.ts [episodes] [at once]. batch.py does the same in Python.
 */
import process from "node:process";
import { SandboxClient } from "hookbox";

const [episodes = 100, atOnce = 20] = process.argv.slice(2).map(Number);
const STEPS = 3;
const PROGRAM = `import random, sys
random.seed(int(sys.argv[1]))
with open("reward", "a") as file:
    print(sum(random.random() < 0.5 for _ in range(100)), file=file)
`;

const client = new SandboxClient();
const rewards: number[] = [];
const failures: string[] = [];
/** In milliseconds. */
const times = { ready: [] as number[], command: [] as number[], episode: [] as number[] };
let next = 0;

/** Records how long something took, if it did not fail. */
async function timed<T>(into: number[], doing: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await doing();
  into.push(performance.now() - begun);
  return result;
}

async function episode(seed: number): Promise<number> {
  const options = { pool: "python", timeoutMs: 600_000, readyTimeoutMs: 300_000 };
  await using sandbox = await timed(times.ready, () => client.create(options));
  await sandbox.files.write("step.py", PROGRAM);
  for (let step = 0; step < STEPS; step++) {
    const command = ["python3", "step.py", String(seed + step)];
    await timed(times.command, () => sandbox.commands.run(command, { check: true, timeoutMs: 60_000 }));
  }
  const lines = (await sandbox.files.read("reward")).trim().split("\n").map(Number);
  return lines.reduce((sum, reward) => sum + reward, 0) / STEPS;
}

async function worker(): Promise<void> {
  while (next < episodes) {
    const seed = next++;
    await timed(times.episode, () => episode(seed)).then(
      (reward) => rewards.push(reward),
      (error) => failures.push(`${seed}: ${error.message}`),
    );
  }
}

/** Half of the times, 95 % and 99 % of them are not longer. */
function summary(values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (percent: number) => Math.round(sorted[Math.ceil(sorted.length * percent / 100) - 1] ?? NaN);
  return `p50 ${at(50)} ms, p95 ${at(95)} ms, p99 ${at(99)} ms`;
}

const begun = performance.now();
await Promise.all(Array.from({ length: Math.min(atOnce, episodes) }, worker));
const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
console.log(`${rewards.length} of ${episodes} episodes, mean reward ${mean.toFixed(1)}`);
for (const [what, values] of Object.entries(times)) console.error(`${what.padEnd(8)} ${summary(values)}`);
console.error(`${((performance.now() - begun) / 1000).toFixed(1)} s`);
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;
