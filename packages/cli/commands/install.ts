/** `hookbox install`: brings CRDs, controllers and rights to a cluster, or prints them. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { Ended, UsageError, verdictOf } from "../failure.ts";
import type { CommandContext } from "../commandcontext.ts";
import { withManifestOptions } from "./manifests.ts";

interface InstallOptions {
  apply?: boolean;
  dryRun?: boolean;
  force?: boolean;
  hooksUrl?: string;
  systemNamespace: string;
}

const MORE = `
Without --apply and --dry-run it prints the YAML. Metacontroller 4.17 or later has to be there before, and hooks, keeper
and router run where you let them: "hookbox serve", "hookbox keeper", "hookbox router". The keeper runs the binder, too,
unless you run that apart: "hookbox keeper --no-binder", "hookbox binder". "hookbox doctor" tells what lacks.

Example:
  hookbox install --apply --hooks-url http://10.0.0.5:8080`;

export function installCommand(context: CommandContext): Command {
  const command = new Command("install")
    .description("Install CRDs, controllers and rights, or print them")
    .option("--apply", "apply them to the cluster")
    .option("--dry-run", "ask the API server what --apply would change")
    .option("--force", "take over fields that somebody else has set")
    .option("--system-namespace <name>", "namespace of keeper, binder and router", "hookbox-system")
    .addHelpText("after", MORE);
  withManifestOptions(command).action(async () => {
    const options = optionsOf<InstallOptions>(command);
    if (options.apply && options.dryRun) throw new UsageError("Cannot apply and try at once: --apply or --dry-run");
    const { bundleObjects, renderBundle } = await import("../install/bundle.ts");
    const { hooksUrl: hooksURL, systemNamespace: namespace, dryRun = false, force = false } = options;
    const text = renderBundle({ hooksURL, namespace });
    if (!options.apply && !dryRun) return context.stdout.write(text);
    const { createApplier } = await import("../install/apply.ts");
    const { api } = await context.reach(options);
    const apply = createApplier(api, { dryRun, force });
    let failed = false;
    for (const object of bundleObjects(text)) {
      const { kind, apiVersion, metadata } = object;
      const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [];
      const name = `${kind.toLowerCase()}${group ? `.${group}` : ""}/${metadata.name}`;
      try {
        context.stdout.write(`${name} ${await apply(object)}${dryRun ? " (dry run)" : ""}\n`);
      } catch (error) {
        failed = true;
        for (const line of verdictOf(error).lines) context.stderr.write(`${line}\n`);
      }
      context.signal.throwIfAborted();
    }
    if (failed) throw new Ended(1);
  });
  return withCluster(command);
}
