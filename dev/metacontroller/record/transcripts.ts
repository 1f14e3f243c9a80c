/** Records the scenario files and the engine tests, and writes what the stand-in is held to. @module */
import { transcriptOf } from "./build.ts";
import { normalized } from "./normal.ts";
import { type Run, runEngineTests, runScenarios } from "./runs.ts";
import { servedIn } from "./served.ts";
import { writeTranscript } from "./transcript.ts";
import { type RecordingOptions, startRecordingWorld } from "./world.ts";

export interface Recorder extends Pick<RecordingOptions, "binary" | "progress" | "signal"> {
  /** Takes a file. */
  write(name: string, text: string): void;
}

/** Writes a transcript for each scenario file and each file of engine tests, and the histories of the scenarios. */
export async function recordTranscripts({ binary, progress, signal, write }: Recorder): Promise<void> {
  const world = await startRecordingWorld({ binary, progress, signal, nodes: "simulated" });
  const runs: (Run & { of: string; managedFields: boolean })[] = [];
  try {
    for (const run of await runScenarios(world, progress)) {
      runs.push({ ...run, of: `testing/scenarios/${run.name}.yaml`, managedFields: false });
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
