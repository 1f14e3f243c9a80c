/** The options of the demo. @module */
import { resolve } from "node:path";
import { parseArgs } from "node:util";

/** The options of the demo on a cluster that exists. */
export interface ContextOptions {
  mode: "context";
  context: string;
  /** Undefined: the kubeconfig that kubectl uses. */
  kubeconfig: string | undefined;
  /** The image of hookbox's processes. Undefined: docker builds it. */
  image: string | undefined;
  /** The image of the runtime in sandboxes. Undefined: docker builds it. */
  runtimeImage: string | undefined;
  namespace: string;
  keep: boolean;
  /** Whether to remove what an earlier demo has left, and nothing else. */
  remove: boolean;
}

export type DemoOptions = { mode: "help" } | { mode: "local"; keep: boolean } | ContextOptions;

export const HELP = `Usage: npm run demo -- [options]

Shows the whole life of a sandbox: installs hookbox, plays the chapters, and removes everything.
Without --context, the demo starts a Kubernetes cluster of its own, and stops it at the end.

  --keep   leave everything running ("npm run down" ends it; with --context, "--remove")
  --help   this text

On a cluster that exists, such as kind, k3d or minikube:

  --context NAME         context of the kubeconfig
  --kubeconfig FILE      kubeconfig (default: $KUBECONFIG, or ~/.kube/config)
  --namespace NAME       namespace that the demo creates for its sandboxes (default: hookbox-demo)
  --image IMAGE          image of hookbox that the nodes can pull (default: docker builds it, and the demo loads it
                         into kind, k3d or minikube)
  --runtime-image IMAGE  image of hookbox's runtime that the nodes can pull (default: as with --image; without this
                         image, the demo leaves out the chapters that use it)
  --remove               only remove what an earlier demo on this context has left

The demo needs kubectl, and the rights of an administrator if it installs something. If Metacontroller or hookbox are
already installed, the demo uses them and does not change them. At the end, after Ctrl-C, and after a failure, it
removes what it has created on the cluster, and nothing else. Images stay in docker and on the nodes.

Examples:
  npm run demo -- --context kind-kind
  npm run demo -- --context staging --image registry.example/hookbox:0.2.0
`;

const FLAGS = {
  "keep": { type: "boolean", default: false },
  "help": { type: "boolean", default: false },
  "context": { type: "string" },
  "kubeconfig": { type: "string" },
  "namespace": { type: "string" },
  "image": { type: "string" },
  "runtime-image": { type: "string" },
  "remove": { type: "boolean", default: false },
} as const;

/** Options that name something about a cluster that exists. */
const OF_CONTEXT = ["kubeconfig", "namespace", "image", "runtime-image", "remove"] as const;

/** Namespaces that belong to Kubernetes, or to an installation that the demo may use. */
const RESERVED = /^(default|kube-.*|hookbox-system|agent-sandbox-system|metacontroller)$/;

/**
 * Parses the command line.
 *
 * @param folder of relative paths; npm runs scripts in the folder of package.json, wherever the user is
 * @throws {Error} if the command line is invalid
 */
export function parseDemoOptions(args: readonly string[], folder = "."): DemoOptions {
  const { values } = parseArgs({ args: [...args], options: FLAGS });
  if (values.help) return { mode: "help" };
  const { context, keep, remove } = values;
  if (context === undefined || context === "") {
    const other = OF_CONTEXT.find((name) => values[name] !== undefined && values[name] !== false);
    if (other === undefined && context === undefined) return { mode: "local", keep };
    throw new Error(
      `Cannot choose a cluster: ${other === undefined ? "--context is empty" : `--${other} needs --context`}. ` +
        'Name a context of your kubeconfig; "kubectl config get-contexts" lists them.',
    );
  }
  if (keep && remove) throw new Error("Cannot use --keep and --remove together");
  const { namespace = "hookbox-demo" } = values;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new Error(
      `Cannot create namespace "${namespace}": a name has only a-z, 0-9 and -, and at most 63 characters`,
    );
  }
  if (RESERVED.test(namespace)) {
    throw new Error(
      `Cannot use namespace ${namespace}: the demo deletes its namespace at the end. Choose another name.`,
    );
  }
  const { image, "runtime-image": runtimeImage } = values;
  const kubeconfig = values.kubeconfig === undefined ? undefined : resolve(folder, values.kubeconfig);
  return { mode: "context", context, kubeconfig, image, runtimeImage, namespace, keep, remove };
}
