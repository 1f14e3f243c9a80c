/** Lists sandboxes: claims, and Sandboxes without a claim or pool. @module */
import { controllerOf } from "../../api/objects/objects.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type Api, pathOf } from "../../kube/api.ts";
import type { ListOptions, SandboxInfo } from "../options.ts";
import { callAPI } from "./kube.ts";
import { type ClaimOrSandbox, infoOf } from "./readiness.ts";

/** One page of a list, and the cursor of the next one. */
export interface SandboxPage {
  items: SandboxInfo[];
  /** Cursor of the next page; absent on the last page. */
  cursor?: string;
}

const PAGE = 100;
const RESOURCES = ["sandboxclaims", "sandboxes"] as const;
const KINDS = { sandboxclaims: "SandboxClaim", sandboxes: "Sandbox" } as const;

/**
 * Returns one page: claims first, then Sandboxes, each sorted by namespace and name.
 *
 * @param namespace undefined: all namespaces
 * @param cursor the cursor of the page before; absent: the first page
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
  const { items, metadata } = await callAPI<{ items: ClaimOrSandbox[]; metadata: { continue?: string } }>(api, {
    method: "GET",
    path: pathOf({ resource, namespace }),
    query,
    action: `list ${resource}`,
    object: { kind: KINDS[resource], ...namespace === undefined ? {} : { namespace }, name: "" },
    signal,
  });
  // The API server does not set the kind of items in a list.
  const claimsAndSandboxes = items.map((item) => ({ ...item, kind: KINDS[resource] }) as ClaimOrSandbox).filter(isTop);
  const next = metadata.continue
    ? `${index} ${metadata.continue}`
    : Number(index) + 1 < RESOURCES.length
    ? `${Number(index) + 1}`
    : undefined;
  return { items: claimsAndSandboxes.map(infoOf), ...next === undefined ? {} : { cursor: next } };
}

/** A Sandbox of a claim is represented by the claim. Unused Sandboxes of pools are not listed. */
function isTop(claimOrSandbox: ClaimOrSandbox): boolean {
  if (claimOrSandbox.kind === "SandboxClaim") return true;
  const owner = controllerOf((claimOrSandbox as Sandbox).metadata);
  return owner?.kind !== "SandboxClaim" && owner?.kind !== "SandboxWarmPool";
}
