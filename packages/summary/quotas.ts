/** Summarizes the ResourceQuotas of a namespace. Pure. @module */
import { quantity } from "../api/objects/quantity.ts";

/** Name by which quotas count claims, which are the sandboxes of E2B's clients. */
export const COUNTED_CLAIMS = "count/sandboxclaims.extensions.agents.x-k8s.io";

/** A ResourceQuota, as far as this page reads it. */
export interface Quota {
  /** Absent: Kubernetes has not seen the quota yet. */
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}

/** How much of a resource is used, as quantities of Kubernetes. */
export interface QuotaUse {
  /** Such as `limits.cpu`. */
  resource: string;
  /** Absent: Kubernetes has not counted it yet. */
  used?: string;
  hard: string;
}

/** Lists what quotas limit, sorted by resource. If several quotas limit a resource, the one with the least left counts. */
export function quotaUses(quotas: readonly Quota[]): QuotaUse[] {
  const tightest = new Map<string, QuotaUse>();
  for (const { status: { hard: limits = {}, used = {} } = {} } of quotas) {
    for (const [resource, hard] of Object.entries(limits)) {
      const use = { resource, hard, ...used[resource] === undefined ? {} : { used: used[resource] } };
      const other = tightest.get(resource);
      if (other === undefined || leftOf(use) < leftOf(other)) tightest.set(resource, use);
    }
  }
  return [...tightest.values()].sort((a, b) => a.resource < b.resource ? -1 : 1);
}

function leftOf({ hard, used = "0" }: QuotaUse): number {
  return quantity(hard) - quantity(used);
}
