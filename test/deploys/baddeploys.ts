/** Hooks as they may be deployed by mistake: what ours decide, spoilt before the guard looks at it. @module */
import { evidence as ofSandboxes } from "../../hooks/sandbox/evidence.ts";
import { evidence as ofClaims } from "../../hooks/sandboxclaim/evidence.ts";
import * as claims from "../../hooks/sandboxclaim/deletionreasons.ts";
import * as sandboxes from "../../hooks/sandbox/deletionreasons.ts";
import * as pools from "../../hooks/sandboxwarmpool/deletionreasons.ts";
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";
import { syncSandboxClaim } from "../../hooks/sandboxclaim/sync.ts";
import { syncSandbox } from "../../hooks/sandbox/sync.ts";
import { customizeSandboxWarmPool } from "../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../hooks/sandboxwarmpool/sync.ts";
import { compositeCalls, decoratorCalls, type HookCalls } from "../../packages/webhook/hook.ts";
import { childKey } from "../../packages/webhook/metacontroller.ts";
import { type Condition, rfc3339 } from "../../packages/api/objects/conditions.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { readSettings } from "../../hooks/all.ts";

/** What a hook wants, why it lets the others go, and what it says. */
export interface Wish {
  children: DesiredObject[];
  deletions: Readonly<Record<string, string>>;
  /** Absent: it says nothing new. */
  status?: { conditions?: Condition[] | undefined } | null | undefined;
}

/** What is wrong with a deploy. `call` counts the calls of its hook, from 0. */
export type Fault = (wish: Wish, context: { hook: string; call: number; now: Date }) => Wish;

/** Makes all hooks with a fault. @param ahead milliseconds by which their clock is wrong */
export function faulty(fault: Fault, ahead = 0): Record<string, () => HookCalls> {
  const { settings } = readSettings([]);
  const spoil = (hook: string) => {
    let call = 0;
    return (children: DesiredObject[], deletions: Wish["deletions"] = {}, status: Wish["status"], now: Date) =>
      fault({ children, deletions, ...(status ? { status } : {}) }, { hook, call: call++, now });
  };
  const sandbox = spoil("sandbox");
  const claim = spoil("sandboxclaim");
  const pool = spoil("sandboxwarmpool");
  const late = (calls: HookCalls): HookCalls => ({
    ...calls,
    sync: (body, now, budget) => calls.sync(body, new Date(now.getTime() + ahead), budget),
  });
  const all = {
    sandbox: compositeCalls({
      type: "composite",
      name: "sandbox",
      parentSchema: sandboxSchema,
      deletionReasons: sandboxes.deletionReasons,
      evidence: ofSandboxes,
      sync(observed, now) {
        const desired = syncSandbox(observed, now, settings);
        return { ...desired, ...sandbox(desired.children, desired.deletions, desired.status, now) } as typeof desired;
      },
    }),
    sandboxclaim: decoratorCalls({
      type: "decorator",
      name: "sandboxclaim",
      parentSchema: sandboxClaimSchema,
      deletionReasons: claims.deletionReasons,
      evidence: ofClaims,
      sync(observed, now) {
        const decorated = syncSandboxClaim(observed, now, settings);
        const { attachments, deletions, status } = decorated;
        const { children, ...wish } = claim(attachments, deletions, status, now);
        return { ...decorated, ...wish, attachments: children } as typeof decorated;
      },
    }),
    sandboxwarmpool: compositeCalls({
      type: "composite",
      name: "sandboxwarmpool",
      parentSchema: sandboxWarmPoolSchema,
      deletionReasons: pools.deletionReasons,
      customize: customizeSandboxWarmPool,
      sync(observed, now) {
        const desired = syncSandboxWarmPool(observed, now, settings);
        const { status: _, ...wish } = pool(desired.children, desired.deletions, undefined, now);
        return { ...desired, ...wish };
      },
    }),
  };
  return Object.fromEntries(Object.entries(all).map(([name, calls]) => [name, () => late(calls)]));
}

const without = (wish: Wish, goes: (child: DesiredObject, index: number) => boolean, reason?: string): Wish => {
  const gone = wish.children.filter(goes);
  return {
    children: wish.children.filter((child) => !gone.includes(child)),
    deletions: {
      ...wish.deletions,
      ...Object.fromEntries(reason === undefined ? [] : gone.map((child) => [childKey(child), reason])),
    },
  };
};
const changed = (wish: Wish, change: (child: DesiredObject) => DesiredObject): Wish => ({
  ...wish,
  children: wish.children.map(change),
});
const withSpec = (child: DesiredObject, fields: object): DesiredObject => ({
  ...child,
  spec: { ...child.spec as object, ...fields },
});
const withContainers = (child: DesiredObject, fields: object): DesiredObject => {
  const { containers = [{ name: "main" }] } = (child.spec ?? {}) as { containers?: object[] };
  return withSpec(child, { containers: containers.map((container) => ({ ...container, ...fields })) });
};
/** What is wrong with one kind alone. */
const spoilt = (kind: string, change: (child: DesiredObject) => DesiredObject): Fault => (wish) =>
  changed(wish, (child) => child.kind === kind ? change(child) : child);
const saying = (
  wish: Wish,
  { type, status, reason }: Pick<Condition, "type" | "status" | "reason">,
  now: Date,
): Wish => {
  const others = wish.status?.conditions?.filter((condition) => condition.type !== type) ?? [];
  const said = { type, status, reason, message: "", lastTransitionTime: rfc3339(now) };
  return { ...wish, status: { ...wish.status, conditions: [said, ...others] } };
};
const isSandbox = ({ kind }: DesiredObject) => kind === "Sandbox";
const nothing: Wish = { children: [], deletions: {} };

/** The children that were last wanted for another parent. */
function strangers(): Fault {
  const last = new Map<string, Wish>();
  return (wish, { hook }) => {
    const other = last.get(hook) ?? nothing;
    last.set(hook, wish);
    return other;
  };
}

/** The bad deploys, by what they do. */
export const BAD_DEPLOYS: Record<string, () => Fault> = {
  "answers nothing": () => () => nothing,
  "forgets the volumes": () => (wish) => without(wish, ({ kind }) => kind === "PersistentVolumeClaim"),
  "forgets a tenth at a time": () => (wish) => without(wish, (_, index) => index % 10 === 0),
  "suspends all": () => (wish, { hook }) =>
    hook === "sandbox"
      ? without(wish, ({ kind }) => kind === "Pod", sandboxes.SUSPENDED)
      : changed(wish, (child) => isSandbox(child) ? withSpec(child, { operatingMode: "Suspended" }) : child),
  "lets all expire": () => (wish, { hook, now }) => {
    if (hook === "sandbox") return without(wish, ({ kind }) => kind !== "PersistentVolumeClaim", sandboxes.EXPIRED);
    if (hook === "sandboxclaim") return without(wish, isSandbox, claims.EXPIRED);
    return changed(wish, (child) => withSpec(child, { shutdownTime: now.toISOString() }));
  },
  "renames the children": () => (wish) =>
    changed(wish, (child) => ({ ...child, metadata: { ...child.metadata, name: `${child.metadata.name}-x` } })),
  "loses the labels": () => (wish) =>
    changed(wish, ({ metadata: { labels: _, ...metadata }, ...child }) => ({ ...child, metadata })),
  "answers with another's children": strangers,
  "ends the Pods": () => spoilt("Pod", (pod) => withSpec(pod, { activeDeadlineSeconds: 1 })),
  "changes the image": () => spoilt("Pod", (pod) => withContainers(pod, { image: "another:1" })),
  "has Services select nothing": () => spoilt("Service", (service) => withSpec(service, { selector: { a: "b" } })),
  "has all deleted at their end": () => spoilt("Sandbox", (child) => withSpec(child, { shutdownPolicy: "Delete" })),
  "says that all is finished": () => (wish, { hook, now }) =>
    hook === "sandboxwarmpool" ? wish : saying(wish, { type: "Finished", status: "True", reason: "PodSucceeded" }, now),
  "says that all has expired": () => (wish, { hook, now }) => {
    const reason = hook === "sandbox" ? "SandboxExpired" : "ClaimExpired";
    return hook === "sandboxwarmpool" ? wish : saying(wish, { type: "Ready", status: "False", reason }, now);
  },
  "throws for one in ten": () => (wish, { call }) => {
    if (call % 10 === 0) throw new RangeError("out of order");
    return wish;
  },
  "flaps": () => (wish, { call }) => call % 2 === 0 ? nothing : wish,
};
