/** `hookbox logs`: prints the logs of a sandbox's containers. @module */
import type { Command } from "commander";
import { isOk, pathOf } from "../../kube/api.ts";
import { find } from "../../sdk/control/find.ts";
import { errorOfKube } from "../../sdk/control/kube.ts";
import { sandboxNameOf } from "../../sdk/control/readiness.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { Failure } from "../failure.ts";
import { durationMs, optionsOf, wholeNumber, withCluster } from "../options.ts";

const MORE = `
Logs do not contain the output of "hookbox exec" and "hookbox run", which those commands print.`;

export function defineLogs(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox")
    .option("-f, --follow", "keep running, and print new lines")
    .option("-c, --container <name>", "name of the container (default: the first)")
    .option("-p, --previous", "print the log of the previous container, after a crash")
    .option("--tail <lines>", "only the last lines")
    .option("--since <time>", "only lines of the last 30s, 5m or 1h")
    .option("--timestamps", "start each line with its time")
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      await runLogs(context, name, optionsOf<LogsRequest>(command));
    });
  withCluster(command);
}

/** Options of `hookbox logs`. */
interface LogsRequest extends ConnectionOptions {
  follow?: boolean;
  container?: string;
  previous?: boolean;
  tail?: string;
  since?: string;
  timestamps?: boolean;
}

/** Prints the log. @throws {SandboxError} if there is no such sandbox, or it has no Pod */
async function runLogs(context: CommandContext, name: string, request: LogsRequest): Promise<void> {
  const query = queryOf(request);
  const { api, namespace, read } = await context.connectCluster(request);
  const { claimOrSandbox } = await find(api, namespace, name, context.signal);
  const sandbox = sandboxNameOf(claimOrSandbox);
  if (sandbox === undefined) {
    throw new Failure(
      `Cannot print logs of ${name}: it has no Sandbox yet`,
      `To find out why: ${context.program} why ${name}`,
    );
  }
  const answer = await read(`${pathOf({ resource: "pods", namespace, name: sandbox })}/log`, query, context.signal);
  if (!isOk(answer)) {
    const object = { kind: "Pod", namespace, name: sandbox };
    throw errorOfKube(answer, { action: `print logs of ${name}`, object });
  }
  for await (const chunk of answer.chunks) {
    context.stdout.write(chunk);
    await context.stdout.drained();
  }
}

function queryOf({ follow, container, previous, tail, since, timestamps }: LogsRequest): Record<string, string> {
  return {
    ...follow ? { follow: "true" } : {},
    ...container === undefined ? {} : { container },
    ...previous ? { previous: "true" } : {},
    ...tail === undefined ? {} : { tailLines: String(wholeNumber("--tail", tail)) },
    ...since === undefined ? {} : { sinceSeconds: String(Math.ceil(durationMs("--since", since) / 1000)) },
    ...timestamps ? { timestamps: "true" } : {},
  };
}
