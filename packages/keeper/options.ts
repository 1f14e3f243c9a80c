/** The keeper's command line. Reads nothing but its arguments. @module */
import { parseArgs } from "node:util";
import { DEFAULT_LABEL_DOMAINS } from "../api/claims/podmetadata.ts";
import {
  type CloudEventsOptions,
  HELP as CLOUDEVENTS_HELP,
  OPTIONS as CLOUDEVENTS_OPTIONS,
  readCloudEvents,
} from "./cloudevents/options.ts";
import {
  ANNOTATIONS_HELP,
  type BinderOptions,
  BINDING_HELP,
  IDENTITY_HELP,
  OPTIONS as BINDER_OPTIONS,
  optionsOf,
  TRACING_HELP,
  wholeNumber,
} from "../binder/options.ts";
import { readLossRate } from "../webhook/lossbudget.ts";

/** What the command line says: the binder's options, which are meant for the keeper and for a binder in its process. */
export interface KeeperOptions extends BinderOptions {
  /** Whether the binder runs in this process, too; its Lease is its own. */
  binder: boolean;
  /** False: claims have no Events. */
  claimEvents: boolean;
  /** False: no lifecycle Events of Sandboxes are recorded. Events about problems are recorded in any case. */
  sandboxEvents: boolean;
  /** Who is told what happens to Sandboxes; undefined: nobody. */
  cloudEvents: CloudEventsOptions | undefined;
  leaseSeconds: number;
  /** How many expired objects may be deleted per minute; Infinity: no limit. */
  maxLossesPerMinute: number;
}

const OPTIONS = {
  ...BINDER_OPTIONS,
  "lease-seconds": { type: "string", default: "15" },
  "max-losses-per-minute": { type: "string", default: "600" },
  "no-binder": { type: "boolean", default: false },
  "disable-claim-events": { type: "boolean", default: false },
  "disable-sandbox-events": { type: "boolean", default: false },
  ...CLOUDEVENTS_OPTIONS,
} as const;

export const HELP = `Usage: hookbox keeper [options]

Does what a hook cannot: deletes Sandboxes and claims that have expired, reports why objects cannot be created, changed
or deleted, and hands over what another controller has left. Runs the binder, too, which gives claims their Sandboxes.

Options:
  --kubeconfig F         which cluster (default: the one this Pod runs in)
  --context C            context of the kubeconfig (default: its current one)
  --namespace N          namespace of the Lease hookbox-keeper (default: this Pod's; with --kubeconfig hookbox-system,
                         or default where that does not exist)
${IDENTITY_HELP}  --no-leader-election   act at once, Lease or not: for a single keeper
  --lease-seconds S      how long others wait for a leader that is gone (default 15, at least 3)
  --max-losses-per-minute N
                         Sandboxes and claims that have expired and are deleted per minute, as with hooks (default 600;
                         unlimited: no limit)
  --no-binder            leave it to another process to give claims their Sandboxes: hookbox binder
${BINDING_HELP}  --disable-claim-events record no Events of claims
  --disable-sandbox-events
                         record no lifecycle Events of Sandboxes: Pod created, ready, suspended, expired, finished
${CLOUDEVENTS_HELP}  --port P               port for /healthz, /readyz and /metrics (default 0: none)
  --host H               address to listen on (default 0.0.0.0; with --kubeconfig 127.0.0.1)
  --log-level L          debug, info, warn or error (default info)
${TRACING_HELP}  --allowed-label-domains D,E
                         domains of label keys that claims may use, as the hook for claims has them
                         (default ${DEFAULT_LABEL_DOMAINS.join()})
${ANNOTATIONS_HELP}`;

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[]): KeeperOptions {
  const { values } = parseArgs({ args, options: OPTIONS });
  return {
    ...optionsOf(values),
    claimEvents: !values["disable-claim-events"],
    sandboxEvents: !values["disable-sandbox-events"],
    cloudEvents: readCloudEvents(values),
    binder: !values["no-binder"],
    maxLossesPerMinute: readLossRate(values["max-losses-per-minute"]),
    leaseSeconds: wholeNumber(values["lease-seconds"], "hold a Lease for seconds", 3, 3600),
  };
}
