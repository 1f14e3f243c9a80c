/**
 * Defines the keeper's command-line options: its own, and the binder's, which also apply to a binder in the keeper's
 * process.
 * @module
 */
import { KEEPER_LEASE } from "../api/installation.ts";
import { BINDING_FLAGS, GONE_BINDING_FLAGS, LOGGING_FLAGS } from "../binder/options.ts";
import { CLUSTER_FLAGS, HEALTH_FLAGS, leaseFlags } from "../kube/clusterflags.ts";
import {
  type Environment,
  flag,
  type Program,
  readCommandLine,
  SWITCH,
  type Values,
  wholeNumber,
} from "../process/flags.ts";
import { DEFAULT_DELETION_RATE, DELETION_RATE } from "../process/deletionbudget.ts";
import { CLOUDEVENTS_FLAGS } from "../cloudevents/options.ts";

export const KEEPER = {
  name: "hookbox keeper",
  about:
    `Does what a hook cannot: deletes Sandboxes and claims that have expired, reports why objects cannot be created, changed
or deleted, and takes over what another controller has left. Runs the binder, too, which binds claims to Sandboxes.`,
  flags: {
    ...CLUSTER_FLAGS,
    ...leaseFlags(KEEPER_LEASE),
    "lease-seconds": flag(wholeNumber(3, 3600), {
      help: "how long others wait for a leader that is gone; at least 3",
      since: "0.1.0",
      placeholder: "S",
      default: "15",
    }),
    "max-losses-per-minute": flag(DELETION_RATE, {
      help: "Sandboxes and claims that have expired and are deleted per minute, as with hooks; unlimited: no limit",
      since: "0.1.0",
      default: DEFAULT_DELETION_RATE,
    }),
    binder: flag(SWITCH, {
      help: "do not run the binder: another process, hookbox binder, binds claims to Sandboxes",
      since: "0.1.0",
      default: "true",
    }),
    ...BINDING_FLAGS,
    "disable-claim-events": flag(SWITCH, { help: "record no Events of claims", since: "0.1.0", default: "false" }),
    "disable-sandbox-events": flag(SWITCH, {
      help: "record no lifecycle Events of Sandboxes: Pod created, ready, suspended, expired, finished. Events about " +
        "problems are recorded in any case",
      since: "0.3.0",
      default: "false",
    }),
    ...CLOUDEVENTS_FLAGS,
    ...HEALTH_FLAGS,
    ...LOGGING_FLAGS,
  },
  gone: GONE_BINDING_FLAGS,
} satisfies Program;

/** The values of the keeper's options. */
export type KeeperOptions = Values<typeof KEEPER.flags>;

/** Reads the command line; undefined if it asks for help. @throws {RangeError} if an argument is invalid */
export function readOptions(args: string[], env?: Environment): KeeperOptions | undefined {
  return readCommandLine(KEEPER, args, env)?.values;
}
