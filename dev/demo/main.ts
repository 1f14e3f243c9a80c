/**
 * `npm run demo`: one command that starts a cluster, installs hookbox, and shows the whole life of a sandbox. @module
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { environmentOf } from "../cluster/cluster.ts";
import { CHAPTERS } from "./chapters.ts";
import { chapter, elapsed, failed, held, note, output } from "./terminal.ts";
import { openStage, type Stage } from "./stage.ts";

const HELP = `Usage: npm run demo -- [options]

Starts its own Kubernetes cluster, shows the whole life of a sandbox in it, and stops everything.

  --keep   leave everything running ("npm run down" ends it)
  --help   this text
`;

async function demo(keep: boolean, signal: AbortSignal): Promise<void> {
  let stage: Stage | undefined;
  let done = false;
  try {
    chapter("A Kubernetes of our own");
    stage = await openStage(signal);
    const { shell, cluster: { nodes, whyNotReal } } = stage;
    held(`kube-apiserver answers, and there is a ${nodes} node`);
    if (whyNotReal) note(whyNotReal);
    for (const { title, play } of CHAPTERS) {
      chapter(title);
      await play({ stage, shell });
    }
    done = true;
  } finally {
    if (stage) {
      chapter(keep && done ? "Everything keeps running" : "Stop everything");
      await stage.leave({ keep: keep && done, failed: !done });
      if (keep && done) output(`${environmentOf(stage.cluster)}\nnpm run down`);
      else held("nothing is left running");
    }
  }
}

const abort = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => abort.abort(new Error("Interrupted")));
}
try {
  const { values } = parseArgs({ options: { keep: { type: "boolean", default: false }, help: { type: "boolean" } } });
  if (values.help) {
    process.stdout.write(HELP);
  } else {
    await demo(values.keep, abort.signal);
    process.stdout.write(`\nDone in ${elapsed()}.\n`);
  }
} catch (error) {
  failed(error instanceof Error ? error.message : String(error));
  note("The logs of hooks, Metacontroller and keeper are in .hookbox/demo-logs.");
  process.exitCode = 1;
}
