/** Sandboxes for tests of the router's admission policy, and the annotations that a router writes on them. @module */
import {
  DELETE_ANNOTATION,
  EXPIRED_ANNOTATION,
  IDLE_ANNOTATION,
  SUSPENDED_ANNOTATION,
} from "../../packages/api/router/protocol.ts";
import { idleExpiryText } from "../../packages/api/expiry.ts";
import { suspensionText } from "../../packages/router/idle/suspend.ts";
import { readSandbox } from "../../packages/router/index/records.ts";
import type { Loose, Namespace } from "./namespace.ts";
import { aSandbox } from "./underpolicy.ts";

export const ASKS = { [IDLE_ANNOTATION]: "60", [DELETE_ANNOTATION]: "600" };
export const HOUR = 3_600_000;
/** RFC 3339, so many hours from now. */
export const inHours = (hours: number) =>
  new Date(Math.floor((Date.now() + hours * HOUR) / 1000) * 1000).toISOString().replace(".000Z", "Z");

/** Makes a Sandbox, suspended for two hours or as given, by a router or somebody else. */
export async function put(
  ns: Namespace,
  name: string,
  over: { annotations?: Loose; labels?: Loose; spec?: Loose; hours?: number; by?: string } = {},
) {
  const { annotations = ASKS, labels = {}, spec = {}, hours, by } = over;
  const box = aSandbox(name);
  await ns.apply({
    ...box,
    metadata: { name, annotations: { mine: "1", ...annotations }, labels },
    spec: { ...box.spec, ...spec },
  });
  if (hours === undefined) return;
  const now = readSandbox(await ns.get("sandbox", name))!;
  const at = new Date(Date.now() - hours * HOUR);
  const note = by === "router"
    ? { [SUSPENDED_ANNOTATION]: suspensionText(now, { reason: "Idle", note: "", now: at }) }
    : {};
  await ns.patch("sandbox", name, { metadata: { annotations: note }, spec: { operatingMode: "Suspended" } });
  const { metadata } = await ns.get("sandbox", name);
  const condition = {
    type: "Suspended",
    status: "True",
    reason: "PodTerminated",
    message: "",
    observedGeneration: metadata.generation,
  };
  const conditions = [{ ...condition, lastTransitionTime: inHours(-hours) }];
  await ns.patch("sandbox", name, { status: { conditions } }, "--subresource=status");
}

/** What a router writes to let a Sandbox expire at a time. */
export async function expiry(ns: Namespace, name: string, shutdownTime: string): Promise<Loose> {
  const { metadata, spec } = await ns.get("sandbox", name);
  const note = idleExpiryText({ metadata, spec }, shutdownTime);
  return {
    metadata: { annotations: { [EXPIRED_ANNOTATION]: note } },
    spec: { shutdownTime, shutdownPolicy: "Delete" },
  };
}

export const annotate = (annotations: Loose) => ({ metadata: { annotations } });
export const SUSPEND = { spec: { operatingMode: "Suspended" } };
export const WAKE = { spec: { operatingMode: "Running" } };

/** A Pod template that asks for it. */
export function podAsks(annotations: Loose = ASKS): Loose {
  const { podTemplate } = aSandbox("any").spec as Loose;
  return { podTemplate: { ...podTemplate, metadata: { annotations } } };
}
