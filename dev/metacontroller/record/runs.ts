/**
 * Runs what is recorded: the scenario files and the engine tests, one after the other, each in its own namespace.
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { orAborted } from "../../../packages/sdk/runtime/call.ts";
import { runScenario, type ScenarioHistory } from "../../../packages/testing/mod.ts";
import { renderManifests } from "../../../packages/manifests/render.ts";
import { freePorts } from "../../cluster/ports.ts";
import { makeNamespace, type RecordingWorld } from "./world.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SCENARIOS = new URL("../../../packages/testing/scenarios/", import.meta.url);
const TESTS = "test/integration/";

/** One run: its name, and the range of numbers in the recording that belong to it. */
export interface Run {
  /** Name of the file without its extension. */
  name: string;
  from: number;
  to: number;
  namespace: string;
  history?: ScenarioHistory;
}

/** Runs all scenario files with hookbox's controllers, hooks and keeper. */
export async function runScenarios(world: RecordingWorld, say: (line: string) => void): Promise<Run[]> {
  const [port = 0] = await freePorts(1);
  await start(world, "hooks", ["hooks/serve.ts", "--host", "127.0.0.1", "--port", String(port)]);
  await start(world, "keeper", ["packages/keeper/main.ts", "--kubeconfig", world.cluster.kubeconfig]);
  const { kubectl, kubeconfig } = world.cluster;
  await run(
    world,
    kubectl,
    ["--kubeconfig", kubeconfig, "apply", "-f", "-"],
    renderManifests(`${world.hooks}/${port}`),
  );
  await untilWatching(world, ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"]);
  const runs: Run[] = [];
  for (const file of readdirSync(SCENARIOS).sort()) {
    const name = file.replace(/\.yaml$/, "");
    say(`scenario ${name} …`);
    const namespace = `scenario-${name}`;
    await makeNamespace(world.api, namespace);
    const from = world.count();
    const history = await orAborted(runScenario(new URL(file, SCENARIOS), { api: world.api, namespace }), world.signal);
    runs.push({ name, from, to: world.count(), namespace, history });
  }
  return runs;
}

/** Runs the engine tests against the recorded cluster. @throws {Error} if one of them fails */
export async function runEngineTests(world: RecordingWorld, say: (line: string) => void): Promise<Run[]> {
  const { kubeconfig, kubectl } = world.cluster;
  const given = { kubeconfig, kubectl, engine: "real", nodes: "none", hookProxy: world.hooks, logs: world.folder };
  const runs: Run[] = [];
  for (
    const file of readdirSync(new URL(TESTS, `file://${ROOT}`)).filter((file) => /^engine.*\.test\.ts$/.test(file))
  ) {
    say(`tests ${file} …`);
    const from = world.count();
    const args = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--project", "cluster", join(TESTS, file)];
    const env = { ...process.env, HOOKBOX_TEST_WORLD: JSON.stringify(given) };
    await run(world, process.execPath, args, "", env);
    const name = file.replace(/\.test\.ts$/, "");
    runs.push({ name, from, to: world.count(), namespace: /engine-\w+/.exec(lastNamespace(world, from))?.[0] ?? "" });
  }
  return runs;
}

/** Returns the namespace of the last test: the tests choose its name themselves. */
function lastNamespace({ engines }: RecordingWorld, from: number): string {
  const last = [...engines.controllers.values()].filter(({ traffic }) => (traffic.requests[0]?.number ?? 0) > from);
  return last[0]?.object.metadata.name ?? "";
}

async function untilWatching({ engines }: RecordingWorld, names: string[]): Promise<void> {
  const isUp = (name: string) =>
    [...engines.controllers.values()].some(({ object, traffic }) =>
      object.metadata.name === name && traffic.requests.some(({ path }) => path.endsWith("/events"))
    );
  for (let tries = 0; !names.every(isUp); tries++) {
    if (tries > 600) {
      throw new Error(`Cannot record: not all controllers have started: ${names.filter((name) => !isUp(name))}`);
    }
    await sleep(100);
  }
}

/** Runs a program until it ends. @throws {Error} with its output if it fails */
async function run({ signal }: RecordingWorld, program: string, args: string[], input: string, env = process.env) {
  const child = spawn(program, args, { cwd: ROOT, env, stdio: "pipe", signal });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => output.push(part));
  // A program may end before it has read its input. Its exit code shows whether it succeeded.
  child.stdin.on("error", () => {}).end(input);
  const [code] = await once(child, "close");
  if (code !== 0) {
    throw new Error(`Cannot run ${program} ${args.join(" ")}: it failed\n${output.join("").slice(-4000)}`);
  }
}

async function start(world: RecordingWorld, name: string, args: string[]): Promise<void> {
  const log = openSync(join(world.folder, `${name}.log`), "a");
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", log, log] });
  closeSync(log);
  world.atEnd(() => end(child));
  await once(child, "spawn");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
