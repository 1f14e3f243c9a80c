/** `hookbox rm`: deletes sandboxes with their Pods and volumes. @module */
import type { Command } from "commander";
import { controllerOf } from "../../api/objects/objects.ts";
import { remove } from "../../sdk/control/change.ts";
import { findIfAny } from "../../sdk/control/find.ts";
import { listSandboxes } from "../cluster.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Ended, UsageError } from "../failure.ts";
import { type ClusterOptions, durationMs, optionsOf, withCluster } from "../options.ts";

interface RmOptions {
  all?: boolean;
  selector?: string;
  ignoreNotFound?: boolean;
  olderThan?: string;
  yes?: boolean;
}

const MORE = `
Their volumes are deleted, too. Sandboxes of pools that no claim uses are kept: scale the pool to delete them.

With --all or -l, a terminal is asked first; --yes answers the question. A Sandbox that belongs to a claim is not
deleted by its own name: the claim would take a new one, and the volumes would be lost.

Examples:
  hookbox rm session                     one sandbox
  hookbox rm -l team=a --older-than 1d   the sandboxes of a team that are older than a day`;

export function defineRm(command: Command, context: CommandContext): void {
  command
    .argument("[sandboxes...]", "names of claims or Sandboxes")
    .option("--all", "all sandboxes of this namespace")
    .option("-l, --selector <labels>", "sandboxes with these labels")
    .option("--older-than <time>", "with --all or -l: only sandboxes that are older, such as 8h or 1d")
    .option("--ignore-not-found", "ignore missing sandboxes")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", MORE)
    .action(async (names: string[]) => await runRm(context, names, optionsOf<RmOptions>(command)));
  withCluster(command);
}

async function runRm(context: CommandContext, names: string[], options: RmOptions & ClusterOptions): Promise<void> {
  const { all = false, selector, ignoreNotFound = false, olderThan, yes = false } = options;
  if ([names.length > 0, all, selector !== undefined].filter(Boolean).length !== 1) {
    throw new UsageError("Cannot delete: use either names, --all or -l");
  }
  if (olderThan !== undefined && names.length > 0) {
    throw new UsageError("Cannot use --older-than with names: use it with --all or -l");
  }
  const ageMs = olderThan === undefined ? 0 : durationMs("--older-than", olderThan);
  const { api, namespace } = await context.connectCluster(options);
  const { signal, stdout, stderr } = context;
  const now = api.now?.() ?? context.now().getTime();
  const wanted = names.length > 0
    ? [...new Set(names)]
    : (await listSandboxes(api, { namespace, labelSelector: selector })).filter(({ metadata }) =>
      metadata.deletionTimestamp === undefined && now - Date.parse(metadata.creationTimestamp ?? "") >= ageMs
    ).map(({ metadata }) => metadata.name);
  if (wanted.length === 0) return stderr.write("No sandboxes found.\n");
  if (names.length === 0 && !yes && !await isConfirmed(context, wanted, namespace)) {
    stderr.write("Nothing was deleted.\n");
    throw new Ended(1);
  }
  let hasFailed = false;
  const fail = (name: string, why: string) => {
    hasFailed = true;
    stderr.write(`Cannot delete ${name}: ${why}\n`);
  };
  for (const name of wanted) {
    const found = await findIfAny(api, namespace, name, signal);
    const owner = found && controllerOf(found.claimOrSandbox.metadata);
    if (owner?.kind === "SandboxClaim") {
      const replace = `kubectl delete sandbox ${name} -n ${namespace}`;
      fail(
        name,
        `it is the Sandbox of claim ${owner.name}. Delete the claim: ${context.program} rm ${owner.name}. ` +
          `To give the claim another Sandbox, with new volumes: ${replace}`,
      );
    } else if (found && await remove(api, found.target, found.claimOrSandbox.metadata.uid, signal)) {
      stdout.write(`${name} deleted\n`);
    } else if (names.length > 0 && !ignoreNotFound) fail(name, "there is neither a claim nor a Sandbox of that name");
  }
  if (hasFailed) throw new Ended(1);
}

/** Longest list of names in the question. */
const MOST_NAMES = 10;

/** Asks on a terminal; elsewhere, nobody could answer. */
async function isConfirmed(
  { stdin, stderr, signal }: CommandContext,
  names: readonly string[],
  namespace: string,
): Promise<boolean> {
  if (stdin.isTTY !== true || !stderr.isTTY) return true;
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  const count = names.length === 1 ? "1 sandbox" : `${names.length} sandboxes`;
  stderr.write(
    `Delete ${count} of namespace ${namespace}, with volumes: ${names.slice(0, MOST_NAMES).join(", ")}${more}? [y/N] `,
  );
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input: stdin, signal });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
