/** Everything that the keeper does: which duties hang on which kind's watch. @module */
import type { Binding } from "../binder/bind.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { LossBudget } from "../lib/lossbudget.ts";
import type { ObjectMeta } from "../lib/objects.ts";
import type { Api } from "../kube/api.ts";
import { type Builders, childrenDuty } from "./children.ts";
import { claimProblemDuty, withReferences } from "./claimproblem.ts";
import type { Duty, Report } from "./reconciler.ts";
import type { Sink } from "../kube/watch.ts";
import { claimExpiryVerdict, expiryDuty, sandboxExpiryVerdict } from "./expiry.ts";
import { giveBackDuty, withPools } from "./readopt.ts";
import type { Pace } from "./look.ts";
import { mergeTrapDuty } from "./mergetrap.ts";
import { policyDuty, type PolicyNaming } from "./policy.ts";
import { createQueue } from "./workqueue.ts";
import { createReferences } from "./references.ts";
import { sharedPortsDuty } from "./sharedports.ts";
import { claimWakeDuty, sandboxWakeDuty } from "./wake.ts";
import { followAll, type Sinks } from "./watches.ts";

export interface KeepOptions {
  builders: Builders & PolicyNaming;
  log: Log;
  /** Domains of label keys that claims may use. */
  labelDomains: readonly string[];
  /** Makes the report of the duties for one kind. */
  reportFor(kind: string): Report;
  /** Further sinks, which see each object after the duties. */
  observers?: Partial<Sinks>;
  /** The binder, if it runs in this process: it sees what the duties see. */
  binding?: Binding | undefined;
  /** How much of what has expired may be deleted. */
  budget: LossBudget;
  /** Waits of the looks at children; tests shorten them. */
  pace?: Pace;
  /** @default {systemClock} */
  clock?: Clock;
  /** Called once, when every object of every kind has been seen. */
  onListed?: () => void;
}

const SANDBOX_EXPIRY = { kind: "Sandbox", resource: "sandboxes", judge: sandboxExpiryVerdict } as const;
const CLAIM_EXPIRY = { kind: "SandboxClaim", resource: "sandboxclaims", judge: claimExpiryVerdict } as const;

/** Watches all our kinds and does the duties for them until `signal` fires. */
export async function keep(api: Api, options: KeepOptions, signal: AbortSignal): Promise<void> {
  const { log, clock, labelDomains: domains, reportFor, observers = {}, binding, budget } = options;
  const queue = <T extends { metadata: ObjectMeta }>(duty: Duty<T>): Sink<T> =>
    createQueue(duty, { log, ...(clock && { clock }) }, signal);
  const references = createReferences();
  const report = reportFor("Sandbox");
  const claimReport = reportFor("SandboxClaim");
  const sinks: Sinks = {
    sandboxes: [
      queue(expiryDuty(api, report, budget, SANDBOX_EXPIRY)),
      queue(childrenDuty({ api, ...options, report })),
      queue(sharedPortsDuty(api, report)),
      queue(mergeTrapDuty(api, report)),
      queue(sandboxWakeDuty(api)),
      withPools(queue(giveBackDuty({ api, report, references })), references),
      ...observers.sandboxes ?? [],
    ],
    sandboxclaims: [
      withReferences(queue(claimProblemDuty({ api, report: claimReport, references, domains, clock })), references),
      queue(expiryDuty(api, claimReport, budget, CLAIM_EXPIRY)),
      queue(claimWakeDuty(api)),
      ...observers.sandboxclaims ?? [],
    ],
    sandboxwarmpools: [
      ...binding ? [binding.sinks.sandboxwarmpools] : [],
      references.pools.sink,
      ...observers.sandboxwarmpools ?? [],
    ],
    sandboxtemplates: [
      ...binding ? [binding.sinks.sandboxtemplates] : [],
      references.templates.sink,
      queue(policyDuty({ api, ...options, report: reportFor("SandboxTemplate") })),
      ...observers.sandboxtemplates ?? [],
    ],
  };
  const onListed = () => {
    binding?.listed();
    options.onListed?.();
  };
  await followAll(api, sinks, { log, signal, onListed }, binding?.sinks);
}
