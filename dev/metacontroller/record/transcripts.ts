/**
 * Records the scenario files and the engine tests, one after the other, each in its own namespace, and writes the files
 * that the fake Metacontroller is tested against. @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Run, transcriptOf } from "./build.ts";
import { type Transcript, writeTranscript } from "./transcript.ts";
import { makeNamespace, type RecordingOptions, type RecordingWorld, startRecordingWorld } from "./world.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";
import type { Resource } from "../../../packages/testing/store/store.ts";
import type { Traffic } from "./traffic.ts";
import { orAborted } from "../../../packages/sdk/runtime/call.ts";
import { runScenario } from "../../../packages/testing/mod.ts";
import { renderManifests } from "../../../packages/manifests/render.ts";
import { freePorts } from "../../cluster/ports.ts";

export interface Recorder extends Pick<RecordingOptions, "binary" | "progress" | "signal"> {
  /** Writes a file. */
  write(name: string, text: string): void;
}

/** Writes a transcript for each scenario file and each file of engine tests, and the histories of the scenarios. */
export async function recordTranscripts({ binary, progress, signal, write }: Recorder): Promise<void> {
  const world = await startRecordingWorld({ binary, progress, signal, nodes: "simulated" });
  const runs: (Run & { of: string; managedFields: boolean })[] = [];
  try {
    for (const run of await runScenarios(world, progress)) {
      runs.push({ ...run, of: `packages/testing/scenarios/${run.name}.yaml`, managedFields: false });
    }
    for (const run of await runEngineTests(world, progress)) {
      runs.push({ ...run, of: `test/integration/${run.name}.test.ts`, managedFields: true });
    }
    progress("stopping …");
  } finally {
    await world.stop();
  }
  const { engines, hookCalls } = world;
  const resources = servedIn([...engines.controllers.values()].map(({ traffic }) => traffic));
  const recording = { version: engines.version(), controllers: engines.controllers, hookCalls, resources };
  for (const run of runs) {
    const transcript = transcriptOf(recording, run, run.of);
    write(`${run.name}.jsonl`, writeTranscript(normalized(transcript, run.namespace, run.managedFields)));
    progress(`  ${transcript.syncs.length} syncs`);
  }
  const histories = runs.filter(({ history }) => history).map(({ name, history }) => [name, history]);
  write("histories.json", `${JSON.stringify(Object.fromEntries(histories), null, 1)}\n`);
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SCENARIOS = new URL("../../../packages/testing/scenarios/", import.meta.url);
const TESTS = "test/integration/";

/** Runs all scenario files with hookbox's controllers, hooks and keeper. */
async function runScenarios(world: RecordingWorld, say: (line: string) => void): Promise<Run[]> {
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
async function runEngineTests(world: RecordingWorld, say: (line: string) => void): Promise<Run[]> {
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

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const HOOKS = /http:\/\/127\.0\.0\.1:\d+\/\d+\//g;

/**
 * Replaces random names by fixed ones. Metacontroller does not use the content of these names. They are replaced
 * everywhere, so that references between objects stay valid.
 *
 * @param fields whether to keep `managedFields`; both Metacontrollers pass them on unchanged, and they need the most
 * space
 */
function normalized(transcript: Transcript, namespace: string, fields: boolean): Transcript {
  const uids = new Map<string, string>();
  const renamed = (uid: string) => {
    const known = uids.get(uid) ?? `00000000-0000-4000-8000-${String(uids.size + 1).padStart(12, "0")}`;
    uids.set(uid, known);
    return known;
  };
  const text = JSON.stringify(fields ? transcript : withoutManagedFields(transcript))
    .replaceAll(namespace, "run").replace(HOOKS, "http://hooks/").replace(UID, renamed);
  return JSON.parse(text, (key, value) => key === "hook" ? String(value).replace(/^\/\d+/, "") : value);
}

function withoutManagedFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutManagedFields);
  if (!isObject(value)) return value;
  const { managedFields: _, ...rest } = value as Json;
  return Object.fromEntries(Object.entries(rest).map(([key, field]) => [key, withoutManagedFields(field)]));
}

/** Aggregated discovery: apidiscovery.k8s.io/v2. */
interface Discovery {
  items: {
    metadata: { name?: string };
    versions: {
      version: string;
      resources: {
        resource: string;
        responseKind: { kind: string };
        scope: string;
        subresources?: { subresource: string }[];
      }[];
    }[];
  }[];
}

/** Returns every resource that an answer contains. */
function servedIn(traffics: Traffic[]): Resource[] {
  const found = new Map<string, Resource>();
  for (const { path, answer } of traffics.flatMap(({ requests }) => requests)) {
    if (path !== "/api" && path !== "/apis" || answer?.["kind"] !== "APIGroupDiscoveryList") continue;
    for (const { metadata, versions } of (answer as unknown as Discovery).items) {
      for (const { version, resources } of versions) {
        const apiVersion = metadata.name ? `${metadata.name}/${version}` : version;
        for (const { resource: plural, responseKind: { kind }, scope, subresources = [] } of resources) {
          const hasStatus = subresources.some(({ subresource }) => subresource === "status");
          found.set(`${apiVersion}/${plural}`, {
            apiVersion,
            kind,
            plural,
            namespaced: scope === "Namespaced",
            hasStatus,
          });
        }
      }
    }
  }
  return [...found.values()];
}
