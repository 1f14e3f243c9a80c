/** Defines the command-line options of the server of E2B's API. @module */
import { ROUTER_URL } from "../api/installation.ts";
import { CLUSTER_FLAGS } from "../kube/clusterflags.ts";
import { type Environment, flag, PORT, type Program, readCommandLine, TEXT, type Values } from "../process/flags.ts";
import { LOG_LEVEL } from "../process/sharedflags.ts";

const since = "0.3.0";

export const E2B = {
  name: "hookbox e2b",
  about: "Serves E2B's control API, so that E2B's SDKs create, find and end sandboxes of this cluster.",
  flags: {
    ...CLUSTER_FLAGS,
    "secret-file": flag(TEXT, {
      help: "file with the secrets from which IDs and tokens follow, one a line; the router has the same",
      ...{ since, placeholder: "F", default: "/var/run/secrets/hookbox/e2b/secret" },
    }),
    domain: flag(TEXT, {
      help: "domain of the router, for the hosts of ports",
      ...{ since, placeholder: "D", otherwise: "clients use E2B_DOMAIN or E2B_SANDBOX_URL" },
    }),
    "router-url": flag(TEXT, {
      help: "URL of the router, for metrics of sandboxes",
      ...{ since, placeholder: "U", default: ROUTER_URL },
    }),
    "path-prefix": flag(TEXT, {
      help: "path before all routes, such as /e2b",
      ...{ since, placeholder: "P", default: "" },
    }),
    port: flag(PORT, { help: "port of the API; 0: any free port", since, default: "3000" }),
    host: flag(TEXT, {
      help: "address to listen on",
      ...{ since, placeholder: "H", otherwise: "0.0.0.0; with --kubeconfig 127.0.0.1" },
    }),
    "health-port": flag(PORT, { help: "port for /healthz, /readyz and /metrics; 0: none", since, default: "0" }),
    "log-level": LOG_LEVEL,
  },
} satisfies Program;

/** The values of the options. */
export type E2BOptions = Values<typeof E2B.flags>;

const PREFIX = /^(\/[A-Za-z0-9._~-]+)*$/;

/** Reads the command line; undefined if it asks for help. @throws {RangeError} if an argument is invalid */
export function readOptions(args: string[], env?: Environment): E2BOptions | undefined {
  const values = readCommandLine(E2B, args, env)?.values;
  if (values && !PREFIX.test(values.pathPrefix)) {
    throw new RangeError(`Cannot use --path-prefix ${values.pathPrefix}: it must begin with / and not end with it`);
  }
  return values;
}
