/**
 * Records the scenario files and the engine tests, and writes the files that the fake Metacontroller is tested against.
 * @module
 */
import { transcriptOf } from "./build.ts";
import { type Run, runEngineTests, runScenarios } from "./runs.ts";
import { type Transcript, writeTranscript } from "./transcript.ts";
import { type RecordingOptions, startRecordingWorld } from "./world.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";
import type { Resource } from "../../../packages/testing/store/store.ts";
import type { Traffic } from "./traffic.ts";

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
