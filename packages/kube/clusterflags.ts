/** Defines the command-line options of every process that connects to an API server. @module */
import { flag, PORT, SWITCH, TEXT } from "../process/flags.ts";

const since = "0.1.0";

/** Options that select the cluster. */
export const CLUSTER_FLAGS = {
  kubeconfig: flag(TEXT, {
    help: "kubeconfig of the cluster",
    since,
    placeholder: "F",
    otherwise: "the cluster of this Pod",
  }),
  context: flag(TEXT, {
    help: "context of the kubeconfig",
    ...{ since, placeholder: "C", otherwise: "its current one", needs: ["kubeconfig"] },
  }),
};

/** Options of the leader election. @param lease name of the Lease */
export function leaseFlags(lease: string) {
  return {
    namespace: flag(TEXT, {
      help: `namespace of the Lease ${lease}`,
      ...{ since, placeholder: "N" },
      otherwise: "this Pod's; with --kubeconfig hookbox-system, or default where that does not exist",
    }),
    identity: flag(TEXT, {
      help: "name of the holder of the Lease; a process that restarts with the same name gets the Lease at once",
      ...{ since, placeholder: "I", otherwise: "this Pod's name; with --kubeconfig a new one at each start" },
    }),
    "leader-election": flag(SWITCH, {
      help: "start work without a Lease, for a single replica",
      ...{ since, default: "true" },
    }),
  };
}

/** Options of the port for probes and metrics. */
export const HEALTH_FLAGS = {
  port: flag(PORT, { help: "port for /healthz, /readyz and /metrics; 0: none", since, default: "0" }),
  host: flag(TEXT, {
    help: "address to listen on",
    ...{ since, placeholder: "H", otherwise: "0.0.0.0; with --kubeconfig 127.0.0.1" },
  }),
};
