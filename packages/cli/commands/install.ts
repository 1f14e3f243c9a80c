/** `hookbox install`: brings hookbox to a cluster, or prints what it would bring. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { Ended, UsageError, verdictOf } from "../failure.ts";
import type { CommandContext } from "../commandcontext.ts";
import { durationMs } from "../values.ts";
import { withManifestOptions } from "./manifests.ts";

interface InstallOptions {
  apply?: boolean;
  dryRun?: boolean;
  force?: boolean;
  hooksUrl?: string;
  image?: string;
  processes: boolean;
  systemNamespace: string;
  wait?: boolean;
  timeout: string;
}

const MORE = `
Without --apply and --dry-run it prints the YAML: the same objects as "kubectl apply -k deploy/". Metacontroller 4.17 or
later has to be there before. "hookbox doctor" reports what is missing.

With --hooks-url hooks are not installed, with --no-processes nothing that runs is: run "hookbox serve",
"hookbox keeper --no-binder", "hookbox binder" and "hookbox router" where you like.

Examples:
  hookbox install --apply --wait --image registry.example/hookbox:0.2.0
  hookbox install --apply --no-processes --hooks-url http://10.0.0.5:8080`;

export function installCommand(context: CommandContext): Command {
  const command = new Command("install")
    .description("Install hookbox on a cluster, or print what that takes")
    .option("--apply", "apply them to the cluster")
    .option("--wait", "with --apply: until all processes run and are ready")
    .option("--timeout <time>", "of --wait", "3m")
    .option("--dry-run", "ask the API server what --apply would change")
    .option("--force", "take over fields that somebody else has set")
    .option("--system-namespace <name>", "namespace of hooks, keeper and binder", "hookbox-system")
    .option("--image <name>", "image of all processes (default: as in deploy/)")
    .option("--no-processes", "CRDs, controllers, accounts and rights only")
    .addHelpText("after", MORE);
  withManifestOptions(command).action(async () => {
    const options = optionsOf<InstallOptions>(command);
    if (options.apply && options.dryRun) throw new UsageError("Cannot apply and try at once: --apply or --dry-run");
    if (options.wait && !options.apply) {
      throw new UsageError("Cannot wait for what is not applied: --wait needs --apply");
    }
    const timeoutMs = durationMs("--timeout", options.timeout);
    const { bundleObjects, renderBundle } = await import("../install/bundle.ts");
    const { hooksUrl: hooksURL, systemNamespace: namespace, image, processes, dryRun = false, force = false } = options;
    const text = renderBundle({ hooksURL, namespace, image, processes });
    if (!options.apply && !dryRun) return context.stdout.write(text);
    const { createApplier, nameOf } = await import("../install/apply.ts");
    const { api } = await context.reach(options);
    const apply = createApplier(api, { dryRun, force });
    let failed = false;
    const objects = bundleObjects(text);
    for (const object of objects) {
      try {
        context.stdout.write(`${nameOf(object)} ${await apply(object)}${dryRun ? " (dry run)" : ""}\n`);
      } catch (error) {
        failed = true;
        for (const line of verdictOf(error).lines) context.stderr.write(`${line}\n`);
      }
      context.signal.throwIfAborted();
    }
    if (failed) throw new Ended(1);
    if (!options.wait) return;
    const { untilRolledOut } = await import("../install/wait.ts");
    await untilRolledOut(context, api, objects, timeoutMs);
    context.stderr.write(`All processes are ready. "${context.program} doctor" checks the rest.\n`);
  });
  return withCluster(command);
}
