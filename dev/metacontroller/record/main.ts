/**
 * `npm run record`: records from the real Metacontroller what the fake Metacontroller and the merge are tested against.
 * @module
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { recordMerges } from "./merges.ts";
import { recordTranscripts } from "./transcripts.ts";

const HELP = `Usage: METACONTROLLER=/path/to/metacontroller npm run record -- [transcripts] [merges] [options]

Records what the real Metacontroller does, on its own local cluster, which is removed afterwards. Unit tests check
that the fake Metacontroller and packages/api/objects/apply.ts do what is recorded.

  transcripts  what it asks of hooks and of the API server in the scenario files and the engine tests (three minutes)
  merges       how it merges random children: observed, last applied and desired (about 200 per second)
               Without either: both.

  --cases N    how many children are merged (default 4000)
  --keep N     how many of them the file contains: the first ones (default 1700)
  --seed N     seed of the random children (default 1)
  --out DIR    folder for the files (default: test/dev/metacontroller/transcripts)
  --help       this text
`;

const OUT = fileURLToPath(new URL("../../../test/dev/metacontroller/transcripts/", import.meta.url));

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new RangeError(`Cannot use --${name} ${text}: not a number`);
  return number;
}

async function record(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      cases: { type: "string", default: "4000" },
      keep: { type: "string", default: "1700" },
      seed: { type: "string", default: "1" },
      out: { type: "string", default: OUT },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const unknown = positionals.find((word) => !["transcripts", "merges"].includes(word));
  if (unknown !== undefined) throw new RangeError(`Cannot record ${unknown}: there are transcripts and merges`);
  const binary = process.env["METACONTROLLER"];
  if (!binary) throw new RangeError("Cannot record: METACONTROLLER does not name the real Metacontroller");
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => ending.abort(new Error("Interrupted")));
  }
  const begin = Date.now();
  const progress = (line: string) =>
    void process.stdout.write(`${String(Math.round((Date.now() - begin) / 1000)).padStart(4)} s  ${line}\n`);
  const write = (name: string, text: string) => {
    mkdirSync(values.out, { recursive: true });
    writeFileSync(join(values.out, name), text);
    progress(`${name}: ${Math.ceil(text.length / 1000)} kB`);
  };
  const world = { binary, progress, signal: ending.signal, write };
  const wants = (what: string) => positionals.length === 0 || positionals.includes(what);
  if (wants("transcripts")) await recordTranscripts(world);
  if (wants("merges")) {
    const [cases, keep, seed] = [
      numberOf("cases", values.cases),
      numberOf("keep", values.keep),
      numberOf("seed", values.seed),
    ];
    await recordMerges({ ...world, cases, keep, seed });
  }
}

try {
  await record();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
