/** Assembles the keeper: all its reconcilers, and the watches that feed them. @module */
import type { Binding } from "../binder/binder.ts";
import { type Clock, systemClock } from "../process/clock.ts";
import { createRefusedWrites, SYNC_ERRORS } from "./refusedwrites.ts";
import { errorFields, type Log } from "../process/log.ts";
import type { LossBudget } from "../process/deletionbudget.ts";
import { sandboxSchema } from "../api/sandbox.ts";
import { sandboxClaimSchema } from "../api/sandboxclaim.ts";
import { sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { createWorkQueue } from "../kube/workqueue.ts";
import type { Api } from "../kube/api.ts";
import { childrenReconciler } from "./children.ts";
import { claimRequeueing } from "./claimwake.ts";
import { createGetter, type Getter, type Kept, MOST_ASKED, type Named } from "../kube/kept.ts";
import { createReconcileQueue, type ReconcileQueue, type Reconciler } from "../kube/reconcilequeue.ts";
import type { Intervals, Report } from "./reconciler.ts";
import { listAndWatch } from "../kube/watch.ts";
import { claimExpiryVerdict, expiryReconciler, sandboxExpiryVerdict } from "./expiry.ts";
import { readoptReconciler, withPools } from "./readopt.ts";
import { mergeTrapReconciler, sharedPortsReconciler } from "./mergetrap.ts";
import { policyReconciler, withPolicies } from "./networkpolicy.ts";
import { policyDeletionReconciler, withTemplates } from "./policydeletion.ts";
import { createReferences } from "./references.ts";
import { hookDeployments, rolloutReconciler } from "./rollouts.ts";
import { stuckMembersReconciler } from "./stuckmembers.ts";
import { requeueBoundSandbox, stuckSandboxReconciler } from "./stucksandbox.ts";
import { poolWakeReconciler, sandboxWakeReconciler } from "./wake.ts";
import { type EventHandlers, listAndWatchAll } from "./watches.ts";

export interface KeepOptions {
  log: Log;
  /** Domains of label keys that claims may use. */
  allowedLabelDomains: readonly string[];
  /** Domains of annotation keys that claims may use; undefined: all that are not reserved. */
  allowedAnnotationDomains?: readonly string[] | undefined;
  /** Creates the function with which the reconcilers of a kind report their actions. */
  reportFor(kind: string): Report;
  /** Further event handlers, which are called for each object after the reconcilers. */
  observers?: Partial<EventHandlers>;
  /** The binder, if it runs in this process. It uses the same watches. */
  binding?: Binding | undefined;
  /** Limits the deletion of expired objects. */
  budget: LossBudget;
  /** Namespace of the hooks' Deployments; undefined: not known. */
  hooksNamespace?: string | undefined;
  /** Intervals between checks of children; tests shorten them. */
  intervals?: Intervals;
  /** @default {systemClock} */
  clock?: Clock;
  /** Called once, when all objects of every kind have been listed. */
  onListed?: () => void;
}

const SANDBOX_EXPIRY = { kind: "Sandbox", resource: "sandboxes", judge: sandboxExpiryVerdict } as const;
const CLAIM_EXPIRY = { kind: "SandboxClaim", resource: "sandboxclaims", judge: claimExpiryVerdict } as const;

/** Watches all kinds and runs their reconcilers until `signal` fires. */
export async function keep(api: Api, options: KeepOptions, signal: AbortSignal): Promise<void> {
  const {
    log,
    clock,
    reportFor,
    observers = {},
    binding,
    budget,
    hooksNamespace,
  } = options;
  const queue = <T extends Named>(reconciler: Reconciler<T>, getter?: Getter<T>): ReconcileQueue<T> =>
    createReconcileQueue(reconciler, { log, getter, ...(clock && { clock }) }, signal);
  const turns = createWorkQueue(MOST_ASKED);
  signal.addEventListener("abort", () => turns.clear());
  const sandboxes = createGetter(api, "sandboxes", sandboxSchema, turns);
  const claims = createGetter(api, "sandboxclaims", sandboxClaimSchema, turns);
  const pools = createGetter(api, "sandboxwarmpools", sandboxWarmPoolSchema, turns);
  const templates = createGetter(api, "sandboxtemplates", sandboxTemplateSchema, turns);
  const references = createReferences();
  const report = reportFor("Sandbox");
  const refusedWrites = createRefusedWrites(() => (clock ?? systemClock).now(), (kind, parent) => {
    const failed = (error: unknown) =>
      log("warn", "Cannot read an object whose children the API server refuses to change", {
        kind,
        ...parent,
        ...errorFields(error),
      });
    // Queued, because users can create any number of Events.
    turns.add(parent.namespace, `${kind} ${parent.name}`, () => requeue[kind](parent).catch(failed));
  });
  const children = queue(childrenReconciler({ api, ...options, report, refusedWrites }), sandboxes);
  const stuckSandboxes = queue(stuckSandboxReconciler({ api, ...options, report, refusedWrites }), sandboxes);
  const stuckMembers = queue(
    stuckMembersReconciler({
      api,
      report: reportFor("SandboxWarmPool"),
      refusedWrites,
      intervals: options.intervals,
      clock,
    }),
    pools,
  );
  const claimsToRequeue = claimRequeueing(api, (reconciler) => queue(reconciler));
  const requeue = {
    Sandbox: requeueBy(sandboxes, children),
    SandboxClaim: requeueBoundSandbox(api, claims, stuckSandboxes),
    SandboxWarmPool: requeueBy(pools, stuckMembers),
  };
  const handlers: EventHandlers = {
    sandboxes: [
      queue(expiryReconciler(api, report, budget, SANDBOX_EXPIRY), sandboxes),
      children,
      queue(sharedPortsReconciler(api, report), sandboxes),
      queue(mergeTrapReconciler(api, report), sandboxes),
      queue(sandboxWakeReconciler(api), sandboxes),
      claimsToRequeue.sandboxes,
      stuckSandboxes,
      withPools(queue(readoptReconciler({ api, report, references }), sandboxes), references),
      ...observers.sandboxes ?? [],
    ],
    sandboxclaims: [
      queue(expiryReconciler(api, reportFor("SandboxClaim"), budget, CLAIM_EXPIRY), claims),
      claimsToRequeue.claims,
      ...observers.sandboxclaims ?? [],
    ],
    sandboxwarmpools: [
      ...binding ? [binding.handlers.sandboxwarmpools] : [],
      references.pools,
      queue(poolWakeReconciler(api), pools),
      stuckMembers,
      ...observers.sandboxwarmpools ?? [],
    ],
    sandboxtemplates: [
      ...binding ? [binding.handlers.sandboxtemplates] : [],
      references.templates,
      withPolicies(
        queue(policyReconciler({ api, ...options, report: reportFor("SandboxTemplate"), references }), templates),
        references,
      ),
      ...observers.sandboxtemplates ?? [],
    ],
    networkpolicies: [
      ...binding ? [binding.handlers.networkpolicies] : [],
      references.policies,
      withTemplates(
        queue(policyDeletionReconciler({ api, report: reportFor("NetworkPolicy"), references, clock })),
        references,
      ),
    ],
  };
  const onListed = () => {
    binding?.listed();
    options.onListed?.();
  };
  const rollouts = () => queue(rolloutReconciler(api, log, signal));
  await Promise.all([
    listAndWatchAll(api, handlers, { log, signal, onListed }, binding?.handlers),
    listAndWatch(api, SYNC_ERRORS, refusedWrites.handler, { log, signal }),
    ...hooksNamespace === undefined
      ? []
      : [listAndWatch(api, hookDeployments(hooksNamespace), rollouts(), { log, signal })],
  ]);
}

/** Creates a function that reads an object and queues it. It does nothing if the object is gone. */
function requeueBy<T extends Named>({ get }: Getter<T>, queue: ReconcileQueue<T>) {
  return async (metadata: Kept<T>["metadata"]): Promise<void> => {
    const object = await get(metadata);
    if (object) queue.observe(object);
  };
}
