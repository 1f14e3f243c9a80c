/** How a claim or a Sandbox is, from its status. Pure. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { ClaimFailureReason, SandboxClaim } from "../../api/sandboxclaim.ts";
import { findCondition } from "../../lib/conditions.ts";
import type { SandboxInfo } from "../options.ts";

/** A claim or a Sandbox as the API server shows it: its status may be missing or of any age. */
export type Holding = SandboxClaim | Sandbox;

/** How it is. */
export type Standing =
  | { state: "ready"; sandboxName: string; podIPs: string[] }
  /** It will not become Ready, whatever happens to others. */
  | { state: "failed"; reason: string; message: string }
  | { state: "waiting"; reason: string; message: string };

/** Source: Agent Sandbox API 1.0, checklist item 6. */
const FINAL: Record<ClaimFailureReason, true> = {
  TemplateNotFound: true,
  WarmPoolNotFound: true,
  InvalidMetadata: true,
  EnvVarsInjectionRejected: true,
  VolumeClaimTemplatesError: true,
  ClaimExpired: true,
  SandboxExpired: true,
  InvalidConfiguration: true,
  PodFailed: true,
  PodSucceeded: true,
};

/** Reads how it is; what its status says of an earlier generation does not count. */
export function standingOf(holding: Holding): Standing {
  const { metadata, status } = holding;
  const ready = findCondition(status?.conditions, "Ready");
  if (!ready) return { state: "waiting", reason: "", message: "" };
  const { reason, message } = ready;
  const seen = ready.observedGeneration ?? metadata.generation ?? 0;
  if (seen < (metadata.generation ?? 0)) return { state: "waiting", reason: "", message: "" };
  if (ready.status !== "True") {
    return { state: Object.hasOwn(FINAL, reason) ? "failed" : "waiting", reason, message };
  }
  const sandboxName = sandboxNameOf(holding);
  if (sandboxName === undefined) return { state: "waiting", reason, message };
  return { state: "ready", sandboxName, podIPs: podIPsOf(holding) };
}

/** Returns the name of its Sandbox; undefined while a claim has none. */
export function sandboxNameOf(holding: Holding): string | undefined {
  return holding.kind === "Sandbox" ? holding.metadata.name : holding.status?.sandbox?.name;
}

/** Returns how it is for people. */
export function infoOf(holding: Holding): SandboxInfo {
  const { metadata: { name, namespace = "", labels = {}, annotations = {}, creationTimestamp = "" }, kind } = holding;
  const ready = findCondition(holding.status?.conditions, "Ready");
  const shutdown = kind === "Sandbox" ? holding.spec.shutdownTime : holding.spec.lifecycle?.shutdownTime;
  return {
    name,
    namespace,
    kind,
    sandboxName: sandboxNameOf(holding),
    state: stateOf(holding),
    reason: ready?.reason ?? "",
    message: ready?.message ?? "",
    pool: kind === "Sandbox" ? undefined : holding.spec.warmPoolRef.name,
    podIPs: podIPsOf(holding),
    createdAt: new Date(creationTimestamp),
    expiresAt: shutdown === undefined ? undefined : new Date(shutdown),
    labels,
    metadata: annotations,
  };
}

function stateOf(holding: Holding): SandboxInfo["state"] {
  if (holding.metadata.deletionTimestamp !== undefined) return "Terminating";
  const standing = standingOf(holding);
  if (standing.state === "ready") return "Ready";
  if (standing.reason === "SandboxSuspended") return "Suspended";
  return standing.state === "failed" ? "Failed" : "Starting";
}

function podIPsOf(holding: Holding): string[] {
  return (holding.kind === "Sandbox" ? holding.status?.podIPs : holding.status?.sandbox?.podIPs) ?? [];
}
