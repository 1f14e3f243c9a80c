/** `hookbox install`: installs hookbox in a cluster, or prints the manifests. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Api } from "../../kube/api.ts";
import { Ended, Failure, UsageError, verdictOf } from "../failure.ts";
import type { CommandContext } from "../commandcontext.ts";
import type { ApplyOptions } from "../install/apply.ts";
import { durationMs } from "../values.ts";
import { withManifestOptions } from "./manifests.ts";

interface InstallOptions {
  apply?: boolean;
  crds: boolean;
  namespaces: boolean;
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
Without --apply and --dry-run it prints the YAML: the same objects as deploy/namespaces, crds/ and deploy/ together.
Metacontroller 4.17 or later has to be there before. "hookbox doctor" reports what is missing.

The output contains namespaces and CRDs. "kubectl delete -f" of it deletes them, and with them all Sandboxes of all users.
To get YAML that is safe to delete, add --no-crds --no-namespaces. "hookbox uninstall" keeps namespaces and CRDs.

Without --image Deployments that are there keep the image they have; what is printed has that of deploy/. With --no-crds
the CRDs stay as they are: where they serve v1alpha1, too, they come from deploy/v1alpha1, or from the chart.

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
    .option("--image <name>", "image of all processes (default: those that run keep theirs)")
    .option("--no-crds", "leave the CRDs out")
    .option("--no-namespaces", "leave the namespaces out")
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
    const { hooksUrl: hooksURL, systemNamespace: namespace, image, crds, namespaces, processes } = options;
    const { dryRun = false, force = false } = options;
    const bundle = { hooksURL, namespace, image, crds, namespaces, processes };
    // Printed manifests may be applied to any cluster, so they lack the policy that only newer API servers have.
    const text = renderBundle(bundle);
    if (!options.apply && !dryRun) return context.stdout.write(text);
    const { keepImages } = await import("../install/images.ts");
    const { hasMutatingPolicies } = await import("../install/apply.ts");
    const { api } = await context.reach(options);
    const isServed = await hasMutatingPolicies(api);
    const rendered = bundleObjects(isServed ? renderBundle({ ...bundle, managedFields: true }) : text);
    const objects = image === undefined ? await keepImages(api, rendered, dryRun) : rendered;
    if (!await applyAll(context, api, objects, { dryRun, force })) throw new Ended(1);
    if (!options.wait) return;
    const { untilRolledOut } = await import("../install/wait.ts");
    await untilRolledOut(context, api, objects, timeoutMs);
    context.stderr.write(`All processes are ready. "${context.program} doctor" checks the rest.\n`);
  });
  return withCluster(command);
}

/** Kinds that all other objects need. */
const FIRST = ["Namespace", "CustomResourceDefinition"];

/**
 * Applies Namespaces and CRDs, and the other objects only if all of those were accepted. Prints each refusal.
 *
 * @returns whether all objects were applied
 * @throws {Error} if the API server does not answer
 */
async function applyAll(
  { stdout, stderr, signal }: CommandContext,
  api: Api,
  objects: readonly KubeObject[],
  options: ApplyOptions,
): Promise<boolean> {
  const { createApplier, nameOf } = await import("../install/apply.ts");
  const apply = createApplier(api, options);
  const applyEach = async (some: readonly KubeObject[]) => {
    let isDone = true;
    for (const object of some) {
      try {
        stdout.write(`${nameOf(object)} ${await apply(object)}${options.dryRun ? " (dry run)" : ""}\n`);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        isDone = false;
        for (const line of verdictOf(error).lines) stderr.write(`${line}\n`);
      }
      signal.throwIfAborted();
    }
    return isDone;
  };
  const isFirst = ({ kind }: KubeObject) => FIRST.includes(kind);
  if (await applyEach(objects.filter(isFirst))) return await applyEach(objects.filter((one) => !isFirst(one)));
  stderr.write("Nothing else was applied: it needs these namespaces and CRDs.\n");
  return false;
}
