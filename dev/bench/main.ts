/**
 * `npm run bench -- <shape>…`: puts shapes of load on implementations of the Agent Sandbox API, and writes a report
 * with their measurements. @module
 */
import { mkdirSync } from "node:fs";
import { cpus, totalmem, type } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type BenchOptions, GO_CONTROLLER, HELP, readOptions } from "./options.ts";
import { describeTurn } from "./report/markdown.ts";
import { writeReport } from "./report/write.ts";
import { isFaulty, type Report, type Result } from "./result.ts";
import { runShape } from "./run.ts";
import { podsOf, type Shape, usesRuntime } from "./shapes/shape.ts";
import { openAttached, type Stage } from "./stage/stage.ts";
import { hookboxControllers } from "./stage/hookbox.ts";
import { LAYOUTS, PLAIN } from "./stage/layout.ts";
import { type Controllers, openLocal } from "./stage/local.ts";
import { goControllers } from "./stage/gocontroller.ts";

/** The root of the checkout that this file is in. */
const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));

/** An implementation to measure: this checkout, another one, the Go controller, or what runs in a given cluster. */
interface Implementation {
  name: string;
  /** Starts the cluster and the implementation for one run, or connects to the given cluster. */
  open(shape: Shape, progress: (line: string) => void, signal: AbortSignal): Promise<Stage>;
}

function implementationsOf(options: BenchOptions): Implementation[] {
  const { kubeconfig, context, processes, hookURLs, name, against, peer } = options;
  if (kubeconfig !== undefined) {
    return [{
      name,
      open: (_shape, _say, signal) => openAttached({ kubeconfig, context, processes, hookURLs }, signal),
    }];
  }
  const local = (name: string, controllers: Controllers): Implementation => ({
    name,
    open: (shape, progress, signal) => {
      const profiles = options.profile ? resolve(options.out, `profiles-${shape.name}-${name}`) : undefined;
      return openLocal({
        controllers,
        nodes: shape.workload === "commands" || usesRuntime(shape) ? "real" : "simulated",
        runtime: usesRuntime(shape),
        router: shape.workload === "episodes" || shape.workload === "e2b",
        e2b: shape.workload === "e2b",
        python: options.python,
        pods: podsOf(shape),
        profiles,
        progress,
      }, signal);
    },
  });
  const layouts = options.layouts.map((key) => ({ key, layout: LAYOUTS[key] ?? PLAIN }));
  const nameOf = (layout: string) => layouts.length > 1 ? layout : name;
  return [
    ...layouts.map(({ key, layout }) => local(nameOf(key), hookboxControllers(CHECKOUT, layout))),
    ...(against === undefined
      ? []
      : [local("against", hookboxControllers(resolve(against), layouts[0]?.layout ?? PLAIN))]),
    ...(peer === undefined ? [] : [local(GO_CONTROLLER, goControllers(peer.binary, peer.crds))]),
  ];
}

/**
 * Runs every implementation with every shape. If the signal is aborted, returns the results of the complete rounds.
 *
 * @throws the signal's reason if no round is complete
 */
async function bench(options: BenchOptions, signal: AbortSignal): Promise<Report> {
  const implementations = implementationsOf(options);
  const results: Result[] = [];
  let metacontroller: string | undefined;
  try {
    for (const shape of options.shapes) {
      for (let round = 1; round <= options.rounds; round++) {
        // The machine may be warmer for the second implementation, so the order alternates.
        const order = round % 2 === 1 ? implementations : implementations.toReversed();
        const turns: Result[] = [];
        for (const implementation of order) {
          process.stderr.write(`${shape.name}, ${implementation.name}, round ${round} of ${options.rounds}\n`);
          const turn = await runTurn(implementation, shape, round, signal);
          process.stderr.write(`  ${describeTurn(turn.result)}\n`);
          metacontroller = turn.metacontroller ?? metacontroller;
          turns.push(turn.result);
        }
        results.push(...turns);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    if (results.length === 0) throw signal.reason;
    process.stderr.write("Interrupted: the report contains only the rounds that were complete.\n");
  }
  const machine = { cores: cpus().length, memoryMiB: Math.round(totalmem() / 2 ** 20), system: type() };
  return {
    time: new Date().toISOString(),
    machine,
    ...(metacontroller === undefined ? {} : { engine: metacontroller }),
    ...(options.peer === undefined ? {} : { peer: GO_CONTROLLER }),
    results,
  };
}

async function runTurn(
  { name, open }: Implementation,
  shape: Shape,
  round: number,
  signal: AbortSignal,
): Promise<{ metacontroller: string | undefined; result: Result }> {
  signal.throwIfAborted();
  const progress = (line: string) => process.stderr.write(`  ${line}\n`);
  const stage = await open(shape, progress, signal);
  try {
    const result = await runShape(shape, stage, {
      implementation: name,
      round,
      isGoController: name === GO_CONTROLLER,
      progress,
      signal,
    });
    signal.throwIfAborted();
    return { metacontroller: stage.metacontroller, result };
  } finally {
    await stage.close();
  }
}

const abort = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => abort.abort(new Error("Interrupted")));
}
try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
  } else {
    mkdirSync(options.out, { recursive: true });
    const report = await bench(options, abort.signal);
    process.stdout.write(writeReport(options.out, report));
    process.stderr.write(`The report is in ${join(options.out, "report.md")}.\n`);
    if (isFaulty(report) || abort.signal.aborted) process.exitCode = 1;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
