/**
 * Defines the command-line options of the binder. The keeper has these options too, because it can run a binder in its
 * process.
 * @module
 */
import { BINDER_LEASE, ROUTER_AUDIENCE, ROUTER_URL } from "../api/installation.ts";
import { CLUSTER_FLAGS, HEALTH_FLAGS, leaseFlags } from "../kube/clusterflags.ts";
import {
  type Environment,
  flag,
  type Program,
  readCommandLine,
  TEXT,
  type Values,
  wholeNumber,
} from "../process/flags.ts";
import { CLAIM_METADATA_FLAGS, LOG_LEVEL, otlpEndpoint, TEMPLATE_NETWORK_POLICY } from "../process/sharedflags.ts";

/** Options of how claims get their Sandboxes. */
export const BINDING_FLAGS = {
  "binder-workers": flag(wholeNumber(1, 1000), {
    help: "most claims that are served at the same time; half as many of one namespace",
    since: "0.1.0",
    default: "40",
  }),
  // Correctness depends on conditional writes, not on the Lease. So the Lease can be short, and claims wait no longer
  // than this if the leader is gone.
  "binder-lease-seconds": flag(wholeNumber(3, 3600), {
    help:
      "how long claims wait for a binder that is gone; at least 3. A binder whose Lease the API server takes longer than a " +
      "fifth of this to write serves no claims",
    since: "0.3.0",
    placeholder: "S",
    default: "5",
  }),
  "router-url": flag(TEXT, {
    help: "URL of the router, through which sandboxes get the variables of claims (late binding)",
    since: "0.3.0",
    placeholder: "URL",
    default: ROUTER_URL,
  }),
  "router-token-file": flag(TEXT, {
    help: `file with the token for the router; its audience should be ${ROUTER_AUDIENCE}`,
    since: "0.3.0",
    placeholder: "F",
    default: "/var/run/secrets/hookbox/router/token",
  }),
  "template-network-policy": TEMPLATE_NETWORK_POLICY,
  ...CLAIM_METADATA_FLAGS,
};

/** Options that earlier versions had, and why they were removed. */
export const GONE_BINDING_FLAGS = {
  "refill-delay-seconds": { since: "0.3.0", why: "as the binder itself replaces the members that it binds" },
};

/** Options of the binder's logs and traces. */
export const LOGGING_FLAGS = {
  "log-level": LOG_LEVEL,
  "otlp-endpoint": otlpEndpoint("for claims whose clients trace"),
};

export const BINDER = {
  name: "hookbox binder",
  about:
    `Binds each claim to a Sandbox: a member of the claim's pool, or a new Sandbox. A second binder takes over within
seconds. The keeper runs a binder in its own process unless it has --no-binder.`,
  flags: {
    ...CLUSTER_FLAGS,
    ...leaseFlags(BINDER_LEASE),
    ...BINDING_FLAGS,
    ...HEALTH_FLAGS,
    ...LOGGING_FLAGS,
  },
  gone: GONE_BINDING_FLAGS,
} satisfies Program;

/** The values of the binder's options. */
export type BinderOptions = Values<typeof BINDER.flags>;

/** Reads the command line; undefined if it asks for help. @throws {RangeError} if an argument is invalid */
export function readOptions(args: string[], env?: Environment): BinderOptions | undefined {
  return readCommandLine(BINDER, args, env)?.values;
}
