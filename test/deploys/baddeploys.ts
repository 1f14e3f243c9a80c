/** The bad deploys that delete something, and all bad deploys that change something, or call hooks without end. @module */
import * as claims from "../../hooks/sandboxclaim/deletionreasons.ts";
import * as sandboxes from "../../hooks/sandbox/deletionreasons.ts";
import { BAD_CHANGES } from "./badchanges.ts";
import { BAD_LOOPS } from "./badloops.ts";
import {
  changed,
  type Fault,
  isSandbox,
  nothing,
  saying,
  spoilt,
  type Wish,
  withContainers,
  without,
  withSpec,
} from "./faulty.ts";

export { type Fault, faulty } from "./faulty.ts";

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
  ...BAD_CHANGES,
  ...BAD_LOOPS,
  "flaps": () => (wish, { call }) => call % 2 === 0 ? nothing : wish,
};
