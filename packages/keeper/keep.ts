/** Everything that the keeper does: which reconcilers hang on which kind's watch. @module */
import type { Binding } from "../binder/bind.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { LossBudget } from "../webhook/lossbudget.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Api } from "../kube/api.ts";
import { childrenReconciler } from "./children.ts";
import { createClaimSandboxes } from "./claimsandboxes.ts";
import { claimProblemReconciler, withReferences } from "./claimproblem.ts";
import type { Reconciler, Report } from "./reconciler.ts";
import { type EventHandler, listAndWatch } from "../kube/watch.ts";
import { claimExpiryVerdict, expiryReconciler, sandboxExpiryVerdict } from "./expiry.ts";
import { readoptReconciler, withPools } from "./readopt.ts";
import type { Intervals } from "./look.ts";
import { mergeTrapReconciler } from "./mergetrap.ts";
import { policyReconciler } from "./networkpolicy.ts";
import { createQueue } from "./workqueue.ts";
import { createReferences } from "./references.ts";
import { hookDeployments, rolloutReconciler } from "./rollouts.ts";
import { sharedPortsReconciler } from "./sharedports.ts";
import { claimWakeReconciler, poolWakeReconciler, sandboxWakeReconciler, withSandboxes } from "./wake.ts";
import { type EventHandlers, listAndWatchAll } from "./watches.ts";

export interface KeepOptions {
  log: Log;
  /** Domains of label keys that claims may use. */
  labelDomains: readonly string[];
  /** Makes what the reconcilers of one kind report by. */
  reportFor(kind: string): Report;
  /** Further event handlers, which see each object after the reconcilers. */
  observers?: Partial<EventHandlers>;
  /** The binder, if it runs in this process: it sees what the reconcilers see. */
  binding?: Binding | undefined;
  /** How much of what has expired may be deleted. */
  budget: LossBudget;
  /** Where the Deployments of the hooks are; undefined: nowhere that is known. */
  hooksNamespace?: string | undefined;
  /** Waits of the looks at children; tests shorten them. */
  intervals?: Intervals;
  /** @default {systemClock} */
  clock?: Clock;
  /** Called once, when every object of every kind has been seen. */
  onListed?: () => void;
}

const SANDBOX_EXPIRY = { kind: "Sandbox", resource: "sandboxes", judge: sandboxExpiryVerdict } as const;
const CLAIM_EXPIRY = { kind: "SandboxClaim", resource: "sandboxclaims", judge: claimExpiryVerdict } as const;

/** Watches all our kinds and runs the reconcilers for them until `signal` fires. */
export async function keep(api: Api, options: KeepOptions, signal: AbortSignal): Promise<void> {
  const { log, clock, labelDomains: domains, reportFor, observers = {}, binding, budget, hooksNamespace } = options;
  const queue = <T extends { metadata: ObjectMeta }>(reconciler: Reconciler<T>): EventHandler<T> =>
    createQueue(reconciler, { log, ...(clock && { clock }) }, signal);
  const references = createReferences();
  const claimSandboxes = createClaimSandboxes();
  const report = reportFor("Sandbox");
  const claimReport = reportFor("SandboxClaim");
  const handlers: EventHandlers = {
    sandboxes: [
      queue(expiryReconciler(api, report, budget, SANDBOX_EXPIRY)),
      queue(childrenReconciler({ api, ...options, report })),
      queue(sharedPortsReconciler(api, report)),
      queue(mergeTrapReconciler(api, report)),
      queue(sandboxWakeReconciler(api)),
      claimSandboxes.handler,
      withPools(queue(readoptReconciler({ api, report, references })), references),
      ...observers.sandboxes ?? [],
    ],
    sandboxclaims: [
      withReferences(
        queue(claimProblemReconciler({ api, report: claimReport, references, domains, clock })),
        references,
      ),
      queue(expiryReconciler(api, claimReport, budget, CLAIM_EXPIRY)),
      withSandboxes(queue(claimWakeReconciler(api, claimSandboxes)), claimSandboxes),
      ...observers.sandboxclaims ?? [],
    ],
    sandboxwarmpools: [
      ...binding ? [binding.handlers.sandboxwarmpools] : [],
      references.pools.handler,
      queue(poolWakeReconciler(api)),
      ...observers.sandboxwarmpools ?? [],
    ],
    sandboxtemplates: [
      ...binding ? [binding.handlers.sandboxtemplates] : [],
      references.templates.handler,
      queue(policyReconciler({ api, ...options, report: reportFor("SandboxTemplate") })),
      ...observers.sandboxtemplates ?? [],
    ],
  };
  const onListed = () => {
    binding?.listed();
    options.onListed?.();
  };
  const rollouts = () => queue(rolloutReconciler(api, log, signal));
  await Promise.all([
    listAndWatchAll(api, handlers, { log, signal, onListed }, binding?.handlers),
    ...hooksNamespace === undefined
      ? []
      : [listAndWatch(api, hookDeployments(hooksNamespace), rollouts(), { log, signal })],
  ]);
}
