/**
 * `npm run demo`: one command that installs hookbox on a cluster, shows the whole life of a sandbox, and removes all of
 * it. Without `--context`, it also starts the cluster. @module
 */
import process from "node:process";
import { HELP, parseDemoOptions } from "./options.ts";
import type { Stage } from "./stage.ts";
import { chapter, elapsed, failed } from "./terminal.ts";

/** Exit code of a program that Ctrl-C has ended. */
const INTERRUPTED = 130;

async function play(open: (signal: AbortSignal) => Promise<Stage>, keep: boolean, signal: AbortSignal): Promise<void> {
  let stage: Stage | undefined;
  let done = false;
  try {
    stage = await open(signal);
    const { CHAPTERS } = await import("./chapters.ts");
    for (const { title, play } of CHAPTERS) {
      chapter(title);
      await play({ stage, shell: stage.shell });
    }
    done = true;
  } catch (error) {
    report(error);
  } finally {
    await stage?.leave({ keep: keep && done, failed: !done });
  }
  if (done) process.stdout.write(`\nDone in ${elapsed()}.\n`);
}

function report(error: unknown): void {
  failed(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

const abort = new AbortController();
let hurry: (() => void) | undefined;
const interrupt = () => {
  if (abort.signal.aborted) hurry?.();
  abort.abort(new Error("Interrupted"));
};
process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
// A terminal that is closed. Without a terminal, nohup may have turned this signal off.
if (process.stdout.isTTY) process.on("SIGHUP", interrupt);
try {
  const options = parseDemoOptions(process.argv.slice(2), process.env["INIT_CWD"]);
  if (options.mode === "help") {
    process.stdout.write(HELP);
  } else if (options.mode === "local") {
    // What runs a cluster needs Linux, so it is not even imported elsewhere.
    const { openLocalStage } = await import("./local.ts");
    await play(openLocalStage, options.keep, abort.signal);
  } else {
    const { openContextStage, removeLeftovers, removeCommand } = await import("./context.ts");
    hurry = () => {
      failed(`Stopped before everything was removed. To remove the rest: ${removeCommand(options)}`);
      process.exit(INTERRUPTED);
    };
    if (options.remove) await removeLeftovers(options, abort.signal);
    else await play((signal) => openContextStage(options, signal), options.keep, abort.signal);
  }
} catch (error) {
  report(error);
}
