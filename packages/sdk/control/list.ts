/** Lists sandboxes: claims, and Sandboxes that are nobody's. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import { type Api, pathOf } from "../../kube/api.ts";
import { controllerOf } from "../../api/objects/objects.ts";
import type { ListOptions, SandboxInfo } from "../options.ts";
import { ask } from "./kube.ts";
import { type ClaimOrSandbox, infoOf } from "./readiness.ts";

/** Some sandboxes, and how to go on. */
export interface SandboxPage {
  items: SandboxInfo[];
  /** For the next call; absent: that was all. */
  cursor?: string;
}

const PAGE = 100;
const RESOURCES = ["sandboxclaims", "sandboxes"] as const;
const KINDS = { sandboxclaims: "SandboxClaim", sandboxes: "Sandbox" } as const;

/**
 * Returns the next of them: claims first, each kind in order of namespace and name.
 *
 * @param namespace undefined: all
 * @param cursor of the page before; absent: from the beginning
 */
export async function listPage(
  api: Api,
  namespace: string | undefined,
  { labelSelector, signal }: ListOptions,
  { limit = PAGE, cursor = "" }: { limit?: number; cursor?: string } = {},
): Promise<SandboxPage> {
  const [index = "0", token = ""] = cursor.split(" ");
  const resource = RESOURCES[Number(index)] ?? "sandboxes";
  const query = {
    limit: String(limit),
    ...labelSelector === undefined ? {} : { labelSelector },
    ...token === "" ? {} : { continue: token },
  };
  const { items, metadata } = await ask<{ items: ClaimOrSandbox[]; metadata: { continue?: string } }>(api, {
    method: "GET",
    path: pathOf({ resource, namespace }),
    query,
    action: `list ${resource}`,
    object: { kind: KINDS[resource], ...namespace === undefined ? {} : { namespace }, name: "" },
    signal,
  });
  // Items of a list carry no kind.
  const claimsAndSandboxes = items.map((item) => ({ ...item, kind: KINDS[resource] }) as ClaimOrSandbox).filter(isTop);
  const next = metadata.continue
    ? `${index} ${metadata.continue}`
    : Number(index) + 1 < RESOURCES.length
    ? `${Number(index) + 1}`
    : undefined;
  return { items: claimsAndSandboxes.map(infoOf), ...next === undefined ? {} : { cursor: next } };
}

/** Sandboxes of pools and claims are shown as what they belong to, or not at all. */
function isTop(claimOrSandbox: ClaimOrSandbox): boolean {
  if (claimOrSandbox.kind === "SandboxClaim") return true;
  const owner = controllerOf((claimOrSandbox as Sandbox).metadata);
  return owner?.kind !== "SandboxClaim" && owner?.kind !== "SandboxWarmPool";
}
