/** Reads from the status whether a claim or Sandbox is Ready, may become Ready, or never will. @module */
import { lifetimeOf } from "../../api/expiry.ts";
import { CLAIM_FINAL_REASONS } from "../../api/finalreasons.ts";
import { findCondition } from "../../api/objects/conditions.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { SandboxInfo } from "../options.ts";

/** A claim or a Sandbox as the API server returns it; its status may be missing or outdated. */
export type ClaimOrSandbox = SandboxClaim | Sandbox;

/** Whether a claim or Sandbox is Ready, may become Ready, or cannot. */
export type Readiness =
  | { state: "ready"; sandboxName: string; podIPs: string[] }
  /** It cannot become Ready, whatever other objects do. */
  | { state: "failed"; reason: string; message: string }
  | { state: "waiting"; reason: string; message: string };

const FINAL: ReadonlySet<string> = new Set(CLAIM_FINAL_REASONS);

/** Reads the readiness. A condition of an earlier generation counts as no condition. */
export function readinessOf(claimOrSandbox: ClaimOrSandbox): Readiness {
  const { metadata, status } = claimOrSandbox;
  const ready = findCondition(status?.conditions, "Ready");
  if (!ready) return { state: "waiting", reason: "", message: "" };
  const { reason, message } = ready;
  const seen = ready.observedGeneration ?? metadata.generation ?? 0;
  if (seen < (metadata.generation ?? 0)) return { state: "waiting", reason: "", message: "" };
  if (ready.status !== "True") {
    return { state: FINAL.has(reason) ? "failed" : "waiting", reason, message };
  }
  const sandboxName = sandboxNameOf(claimOrSandbox);
  if (sandboxName === undefined) return { state: "waiting", reason, message };
  return { state: "ready", sandboxName, podIPs: podIPsOf(claimOrSandbox) };
}

/** Returns the name of the Sandbox; undefined while a claim has none. */
export function sandboxNameOf(claimOrSandbox: ClaimOrSandbox): string | undefined {
  return claimOrSandbox.kind === "Sandbox" ? claimOrSandbox.metadata.name : claimOrSandbox.status?.sandbox?.name;
}

/**
 * Returns when it will be deleted (RFC 3339); undefined: no time limit. An end set by a router counts only while it is
 * valid.
 */
export function shutdownTimeOf(claimOrSandbox: ClaimOrSandbox): string | undefined {
  const { kind } = claimOrSandbox;
  return kind === "Sandbox" ? lifetimeOf(claimOrSandbox).shutdownTime : claimOrSandbox.spec.lifecycle?.shutdownTime;
}

/** Returns the description of a claim or Sandbox for lists. */
export function infoOf(claimOrSandbox: ClaimOrSandbox): SandboxInfo {
  const { metadata: { name, namespace = "", labels = {}, annotations = {}, creationTimestamp = "" }, kind } =
    claimOrSandbox;
  const ready = findCondition(claimOrSandbox.status?.conditions, "Ready");
  const shutdown = shutdownTimeOf(claimOrSandbox);
  return {
    name,
    namespace,
    kind,
    sandboxName: sandboxNameOf(claimOrSandbox),
    state: stateOf(claimOrSandbox),
    reason: ready?.reason ?? "",
    message: ready?.message ?? "",
    pool: kind === "Sandbox" ? undefined : claimOrSandbox.spec.warmPoolRef.name,
    podIPs: podIPsOf(claimOrSandbox),
    createdAt: new Date(creationTimestamp),
    expiresAt: shutdown === undefined ? undefined : new Date(shutdown),
    labels,
    metadata: annotations,
  };
}

function stateOf(claimOrSandbox: ClaimOrSandbox): SandboxInfo["state"] {
  if (claimOrSandbox.metadata.deletionTimestamp !== undefined) return "Terminating";
  const readiness = readinessOf(claimOrSandbox);
  if (readiness.state === "ready") return "Ready";
  if (readiness.reason === "SandboxSuspended") return "Suspended";
  return readiness.state === "failed" ? "Failed" : "Starting";
}

function podIPsOf(claimOrSandbox: ClaimOrSandbox): string[] {
  return (claimOrSandbox.kind === "Sandbox" ? claimOrSandbox.status?.podIPs : claimOrSandbox.status?.sandbox?.podIPs) ??
    [];
}
