/** Defines the command-line options of the egress policy. @module */
import { CLUSTER_FLAGS, HEALTH_FLAGS } from "../kube/clusterflags.ts";
import { type Environment, flag, PORT, type Program, readCommandLine, TEXT, type Values } from "../process/flags.ts";
import { LOG_LEVEL } from "../process/sharedflags.ts";

const since = "0.3.0";

export const EGRESS = {
  name: "hookbox egress",
  about:
    `Decides for an egress proxy which hosts the sandboxes of a namespace reach, and which headers their requests get.
The proxy asks on a Unix socket.`,
  flags: {
    ...CLUSTER_FLAGS,
    namespace: flag(TEXT, {
      help: "namespace of the sandboxes",
      ...{ since, placeholder: "N", otherwise: "this Pod's" },
    }),
    socket: flag(TEXT, {
      help: "path of the Unix socket, which only this process and the proxy may reach",
      ...{ since, placeholder: "F", default: "/run/hookbox/egress.sock" },
    }),
    ...HEALTH_FLAGS,
    "metrics-port": flag(PORT, {
      help: "port to serve /metrics on instead of --port, which no Pod may reach",
      ...{ since, otherwise: "that of --port" },
    }),
    "log-level": LOG_LEVEL,
  },
} satisfies Program;

/** The values of the options. */
export type EgressOptions = Values<typeof EGRESS.flags>;

/** Reads the command line; undefined if it asks for help. @throws {RangeError} if an argument is invalid */
export function readOptions(args: string[], env?: Environment): EgressOptions | undefined {
  return readCommandLine(EGRESS, args, env)?.values;
}
