/** `hookbox doctor`: checks what prevents hookbox from working in this cluster. @module */
import type { Command } from "commander";
import type { CommandContext } from "../commandcontext.ts";
import { checkAccounts, checkRights, checkRuntimeClasses, checkStorage } from "../doctor/rights.ts";
import type { Check, CheckInput, CheckResult } from "../doctor/check.ts";
import { checkE2B } from "../doctor/e2b.ts";
import { checkEgress } from "../doctor/egress.ts";
import { checkControllers, checkMetacontroller } from "../doctor/metacontroller.ts";
import { checkBinder, checkKeeper, checkRouter } from "../doctor/processes.ts";
import { checkCRDs, checkServer } from "../doctor/server.ts";
import { Ended } from "../failure.ts";
import { optionsOf, withRouter } from "../options.ts";
import { formatOf } from "../output.ts";
import { createPaint, drawn, type Paint, plainly } from "../terminal.ts";

const MORE = `
Each line starts with ✓ (works), ! (works, but could be better, or could not be checked) or ✗ (does not work). Below it
is what to do. The exit code is 1 if there is a ✗.`;

export function defineDoctor(command: Command, context: CommandContext): void {
  command
    .option("-o, --output <format>", "json")
    .addHelpText("after", MORE)
    .action(async () => {
      const options = optionsOf<{ output?: string }>(command);
      const format = formatOf(options.output, ["json"]);
      const cluster = await context.connectCluster(options);
      const router = options.router ?? context.env["HOOKBOX_ROUTER_URL"];
      const paint = createPaint(context.stdout, context);
      const found = [];
      for await (const result of runChecks({ cluster, router, fetch: context.fetch, now: context.now() })) {
        context.signal.throwIfAborted();
        found.push(result);
        if (!format) context.stdout.write(drawn(renderResult(result, paint)));
      }
      if (format) context.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      if (found.some(({ mark }) => mark === "fail")) throw new Ended(1);
    });
  withRouter(command);
}

const CHECKS: Check[] = [
  checkServer,
  checkCRDs,
  checkMetacontroller,
  checkControllers,
  checkKeeper,
  checkBinder,
  checkRouter,
  checkAccounts,
  checkRights,
  checkRuntimeClasses,
  checkStorage,
  checkEgress,
  checkE2B,
];

/**
 * Yields the results in the order of the checks, as soon as they are known. If the API server does not answer, only the
 * first check is done.
 */
async function* runChecks(input: CheckInput): AsyncGenerator<CheckResult> {
  const [first, ...others] = CHECKS;
  const server = await first?.(input) ?? [];
  yield* server;
  if (server.some(({ mark }) => mark === "fail")) return;
  const running = others.map((check) => check(input));
  for (const found of running) yield* await found;
}

const MARKS = { ok: ["green", "✓"], warn: ["yellow", "!"], fail: ["red", "✗"] } as const;
/** Longer names move their text to the right. */
const WIDTH = 24;

/** Renders one result: mark, subject and text, and below them what to do. */
function renderResult(result: CheckResult, paint: Paint): string {
  const { mark, what, text, remedy } = plainly(result);
  const [color, sign] = MARKS[mark];
  const line = `${paint(color, sign)} ${what.padEnd(WIDTH)} ${text}\n`;
  return remedy === undefined ? line : `${line}  ${" ".repeat(WIDTH)} ${paint("dim", `→ ${remedy}`)}\n`;
}
