/** Prints the log of a container. @module */
import { isOk, pathOf } from "../kube/api.ts";
import { find } from "../sdk/control/find.ts";
import { errorOfKube } from "../sdk/control/kube.ts";
import { sandboxNameOf } from "../sdk/control/readiness.ts";
import { Failure } from "./failure.ts";
import { durationMs, wholeNumber } from "./values.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Options of `hookbox logs`. */
export interface LogsRequest extends Where {
  follow?: boolean;
  container?: string;
  previous?: boolean;
  tail?: string;
  since?: string;
  timestamps?: boolean;
}

/** Prints the log. @throws {SandboxError} if there is no such sandbox, or it has no Pod */
export async function runLogs(context: CommandContext, name: string, request: LogsRequest): Promise<void> {
  const query = queryOf(request);
  const { api, namespace, read } = await context.reach(request);
  const { claimOrSandbox } = await find(api, namespace, name, context.signal);
  const sandbox = sandboxNameOf(claimOrSandbox);
  if (sandbox === undefined) {
    throw new Failure(`Cannot print logs of ${name}: it has no sandbox yet`, `Ask why: ${context.program} why ${name}`);
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
