/** Hooks with a mistake: our hooks' answers, changed before the guard checks them. @module */
import { syncSandboxClaim } from "../../hooks/sandboxclaim/sync.ts";
import { syncSandbox } from "../../hooks/sandbox/sync.ts";
import { sandboxHook } from "../../hooks/sandbox/hook.ts";
import { sandboxClaimHook } from "../../hooks/sandboxclaim/hook.ts";
import { sandboxTemplateHook } from "../../hooks/sandboxtemplate/hook.ts";
import { syncSandboxTemplate } from "../../hooks/sandboxtemplate/sync.ts";
import { sandboxWarmPoolHook } from "../../hooks/sandboxwarmpool/hook.ts";
import { syncSandboxWarmPool } from "../../hooks/sandboxwarmpool/sync.ts";
import type { SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { childKey } from "../../packages/webhook/metacontroller.ts";
import { type Condition, rfc3339 } from "../../packages/api/objects/conditions.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { DEFAULT_SETTINGS } from "../../hooks/all.ts";

/** What a hook wants, why it lets the others go, and what it says. */
export interface Wish {
  children: DesiredObject[];
  deletions: Readonly<Record<string, string>>;
  /** Absent: it says nothing new. */
  status?: { conditions?: Condition[] | undefined } | null | undefined;
  /** Absent: when the good hook asks. */
  resyncAfterSeconds?: number;
}

/** What is wrong with a deploy. `call` counts the calls of its hook, from 0. */
export type Fault = (wish: Wish, context: { hook: string; call: number; now: Date }) => Wish;

/** Makes all hooks with a fault. @param ahead milliseconds by which their clock is wrong */
export function faulty(fault: Fault, ahead = 0): Record<string, () => HookCalls> {
  const settings = DEFAULT_SETTINGS;
  const spoil = (hook: string) => {
    let call = 0;
    return (children: DesiredObject[], deletions: Wish["deletions"] = {}, status: Wish["status"], now: Date) =>
      fault({ children, deletions, ...(status ? { status } : {}) }, { hook, call: call++, now });
  };
  const [sandbox, pool] = [spoil("sandbox"), spoil("sandboxwarmpool")];
  const [claim, template] = [spoil("sandboxclaim"), spoil("sandboxtemplate")];
  const late = (calls: HookCalls): HookCalls => ({
    ...calls,
    sync: (body, now, budget) => calls.sync(body, new Date(now.getTime() + ahead), budget),
  });
  const all = {
    sandbox: sandboxHook(settings, (observed, now, config) => {
      const desired = syncSandbox(observed, now, config);
      return { ...desired, ...sandbox(desired.children, desired.deletions, desired.status, now) } as typeof desired;
    }),
    sandboxclaim: sandboxClaimHook(settings, (observed, now, config) => {
      const decorated = syncSandboxClaim(observed, now, config);
      const { attachments, deletions, status } = decorated;
      const { children, ...wish } = claim(attachments, deletions, status, now);
      return { ...decorated, ...wish, attachments: children } as typeof decorated;
    }),
    sandboxtemplate: sandboxTemplateHook(settings, (observed, config) => {
      const decorated = syncSandboxTemplate(observed, config);
      const { children, ...wish } = template(decorated.attachments, decorated.deletions, undefined, new Date(0));
      return { ...decorated, ...wish, attachments: children } as typeof decorated;
    }),
    sandboxwarmpool: sandboxWarmPoolHook(settings, (observed, now, config) => {
      const desired = syncSandboxWarmPool(observed, now, config);
      const { status, ...wish } = pool(desired.children, desired.deletions, desired.status, now);
      return { ...desired, ...wish, status: (status ?? desired.status) as typeof desired.status };
    }),
  };
  return Object.fromEntries(Object.entries(all).map(([name, calls]) => [name, () => late(calls)]));
}

export const without = (wish: Wish, goes: (child: DesiredObject, index: number) => boolean, reason?: string): Wish => {
  const gone = wish.children.filter(goes);
  return {
    children: wish.children.filter((child) => !gone.includes(child)),
    deletions: {
      ...wish.deletions,
      ...Object.fromEntries(reason === undefined ? [] : gone.map((child) => [childKey(child), reason])),
    },
  };
};
export const changed = (wish: Wish, change: (child: DesiredObject) => DesiredObject): Wish => ({
  ...wish,
  children: wish.children.map(change),
});
export const withSpec = (child: DesiredObject, fields: object): DesiredObject => ({
  ...child,
  spec: { ...child.spec as object, ...fields },
});
export const withContainers = (child: DesiredObject, fields: object): DesiredObject => {
  const { containers = [{ name: "main" }] } = (child.spec ?? {}) as { containers?: object[] };
  return withSpec(child, { containers: containers.map((container) => ({ ...container, ...fields })) });
};
/** What is wrong with one kind alone. */
export const spoilt = (kind: string, change: (child: DesiredObject) => DesiredObject): Fault => (wish) =>
  changed(wish, (child) => child.kind === kind ? change(child) : child);
export const saying = (
  wish: Wish,
  { type, status, reason }: Pick<Condition, "type" | "status" | "reason">,
  now: Date,
): Wish => {
  const others = wish.status?.conditions?.filter((condition) => condition.type !== type) ?? [];
  const said = { type, status, reason, message: "", lastTransitionTime: rfc3339(now) };
  return { ...wish, status: { ...wish.status, conditions: [said, ...others] } };
};
/** Conditions of Sandboxes with another transition time. */
export const since = (time: (now: Date) => string): Fault => (wish, { hook, now }) =>
  hook === "sandbox" && wish.status
    ? {
      ...wish,
      status: {
        ...wish.status,
        conditions: (wish.status.conditions ?? []).map((said) => ({ ...said, lastTransitionTime: time(now) })),
      },
    }
    : wish;
/** A status of pools with other fields. */
export const pooled = (fields: (status: SandboxWarmPoolStatus, now: Date) => object): Fault => (wish, { hook, now }) =>
  hook === "sandboxwarmpool"
    ? { ...wish, status: { ...wish.status, ...fields((wish.status ?? {}) as SandboxWarmPoolStatus, now) } as never }
    : wish;
export const withMetadata = ({ metadata, ...child }: DesiredObject, fields: object): DesiredObject => ({
  ...child,
  metadata: { ...metadata, ...fields },
});
export const annotated = (child: DesiredObject, annotations: object) =>
  withMetadata(child, { annotations: { ...child.metadata.annotations, ...annotations } });
export const labelled = (child: DesiredObject, labels: object) =>
  withMetadata(child, { labels: { ...child.metadata.labels, ...labels } });
export const copies = (child: DesiredObject) =>
  ["", "-1", "-2", "-3", "-4", "-5"].map((end) => withMetadata(child, { name: child.metadata.name + end }));
export const isSandbox = ({ kind }: DesiredObject) => kind === "Sandbox";
/** An answer that wants nothing. */
export const nothing: Wish = { children: [], deletions: {} };
