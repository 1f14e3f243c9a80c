/** Lists the commands for working with a running local cluster. @module */
import { dirname } from "node:path";
import type { Cluster } from "./cluster.ts";

/** Returns the commands that configure a shell for the cluster, one on each line. */
export function environmentOf({ kubeconfig, kubectl }: Pick<Cluster, "kubeconfig" | "kubectl">): string {
  return `export KUBECONFIG=${kubeconfig}
export PATH=$PATH:${dirname(kubectl)}    # a kubectl that fits`;
}

/** Returns the commands that run sandboxes in a cluster without hookbox, one on each line. */
export function nextSteps({ nodes }: Pick<Cluster, "nodes">): string {
  const pool =
    "kubectl apply -f examples/python.yaml            # a pool with hookbox's runtime, for the program in README.md";
  return `npm run dev                                      # the hooks, loaded anew when you save a file
npm run standin -- --kubeconfig $KUBECONFIG      # in place of Metacontroller
npm run keeper -- --kubeconfig $KUBECONFIG
npm run -s manifests -- --hooks-url http://127.0.0.1:8080 | kubectl apply --server-side -f -
kubectl apply -f examples/sandbox.yaml${nodes === "real" ? `\n${pool}` : ""}`;
}
