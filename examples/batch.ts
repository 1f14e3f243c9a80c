// deno-lint-ignore-file no-console -- programs print
/**
 * Runs a batch of episodes, as in reinforcement learning: for each episode it claims a sandbox, runs one step in it,
 * reads the reward, and deletes the sandbox. Needs the pool of python.yaml: node batch.ts [episodes] [at once].
 */
import process from "node:process";
import { SandboxClient } from "hookbox";

const [episodes = 100, atOnce = 20] = process.argv.slice(2).map(Number);
const client = new SandboxClient();
const rewards: number[] = [];
const failures: string[] = [];
let next = 0;

async function episode(seed: number): Promise<number> {
  await using sandbox = await client.create({ pool: "python", timeoutMs: 600_000, readyTimeoutMs: 300_000 });
  const policy = `import random; random.seed(${seed}); print(sum(random.random() < 0.5 for _ in range(100)))`;
  const { stdout } = await sandbox.commands.run(`python3 -c '${policy}'`, { check: true, timeoutMs: 60_000 });
  return Number(stdout);
}

async function worker(): Promise<void> {
  while (next < episodes) {
    const seed = next++;
    await episode(seed).then((reward) => rewards.push(reward), (error) => failures.push(`${seed}: ${error.message}`));
  }
}

const begun = performance.now();
await Promise.all(Array.from({ length: Math.min(atOnce, episodes) }, worker));
const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
console.log(`${rewards.length} of ${episodes} episodes, mean reward ${mean.toFixed(1)}`);
console.error(`${((performance.now() - begun) / 1000).toFixed(1)} s`);
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;
