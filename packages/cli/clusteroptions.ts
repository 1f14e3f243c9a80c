/** Defines and reads the options that all commands share that use a cluster. @module */
import type { Command } from "commander";
import type { Where } from "./commandcontext.ts";

/** Values of the shared options. */
export interface ClusterOptions extends Where {
  allNamespaces?: boolean;
}

const HEADING = "Cluster:";

/**
 * Adds the options for cluster and namespace. Call it last, so that help shows them below the command's own options.
 */
export function withCluster(command: Command): Command {
  const option = (flags: string, description: string) =>
    command.addOption(command.createOption(flags, description).helpGroup(HEADING));
  option("-n, --namespace <name>", "namespace (default: $HOOKBOX_NAMESPACE, or the context's)");
  option("--context <name>", "context of the kubeconfig (default: its current one)");
  option(
    "--kubeconfig <file>",
    "kubeconfig (default: of $KUBECONFIG the first file that has the context, ~/.kube/config, or the Pod's own account)",
  );
  return command;
}

/** Adds the options for the way into sandboxes. */
export function withRouter(command: Command): Command {
  const option = (flags: string, description: string) =>
    command.addOption(command.createOption(flags, description).helpGroup(HEADING));
  option(
    "--router <url>",
    "go through this router ($HOOKBOX_ROUTER_URL; default: a port-forward through the API server)",
  );
  option("--token <token>", "bearer token for the router ($HOOKBOX_TOKEN)");
  return withCluster(command);
}

/** Adds `-A`. */
export function withAllNamespaces(command: Command): Command {
  return command.option("-A, --all-namespaces", "of all namespaces");
}

/** Reads all options of a command, including those before its name. */
export function optionsOf<T extends object = object>(command: Command): T & ClusterOptions {
  const before = command.parent ? optionsOf(command.parent) : {};
  return { ...before, ...command.opts() } as T & ClusterOptions;
}
