/**
 * Finds claims and Sandboxes by name, and lists them; their paths in the API, and their names for errors. @module
 */
import type { Sandbox } from "../../api/sandbox.ts";
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import { type ObjectRef, SandboxNotFoundError } from "../errors.ts";
import { callAPI, callAPIIfFound, NAMESPACE_ADVICE } from "./kube.ts";
import { type ClaimOrSandbox, infoOf } from "./readiness.ts";
import { controllerOf } from "../../api/objects/objects.ts";
import type { ListOptions, SandboxPage } from "../options.ts";

/** Finds the claim of a name, or else the Sandbox. @throws {@link SandboxNotFoundError} if there is neither */
export async function find(
  api: Api,
  namespace: string,
  name: string,
  signal?: AbortSignal,
): Promise<{ target: Target; claimOrSandbox: ClaimOrSandbox }> {
  const found = await findIfAny(api, namespace, name, signal);
  if (found) return found;
  const [why, remedy] = await isNamespaceMissing(api, namespace, signal)
    ? [`namespace "${namespace}" does not exist`, NAMESPACE_ADVICE]
    : ["there is neither a claim nor a Sandbox of that name", "`hookbox get` lists those that there are."];
  const object = { kind: "Sandbox", namespace, name };
  throw new SandboxNotFoundError(`Cannot find sandbox ${namespace}/${name}: ${why}`, { object, remedy });
}

/** Returns whether a namespace does not exist; false if the user may not read namespaces. */
export async function isNamespaceMissing(api: Api, name: string, signal: AbortSignal | undefined): Promise<boolean> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name }), signal })
    .catch(() => undefined);
  return answer?.status === 404;
}

/** As {@link find}, but returns undefined if there is neither. */
export async function findIfAny(api: Api, namespace: string, name: string, signal?: AbortSignal) {
  for (const kind of ["SandboxClaim", "Sandbox"] as const) {
    const target: Target = { kind, namespace, name };
    const claimOrSandbox = await readIfAny<ClaimOrSandbox>(api, target, signal);
    if (claimOrSandbox) return { target, claimOrSandbox };
  }
  return undefined;
}

/** Reads a claim or Sandbox; undefined if it does not exist. */
export async function readIfAny<T>(api: Api, target: Target, signal?: AbortSignal): Promise<T | undefined> {
  const object = refOf(target);
  return await callAPIIfFound<T>(api, {
    method: "GET",
    path: pathOf(placeOf(target)),
    action: `read ${object.kind} ${target.namespace}/${target.name}`,
    object,
    signal,
  });
}

/** Reads a Sandbox by name. @throws {@link SandboxNotFoundError} if it does not exist */
export async function readSandbox(api: Api, namespace: string, name: string, signal?: AbortSignal): Promise<Sandbox> {
  const target: Target = { kind: "Sandbox", namespace, name };
  const sandbox = await readIfAny<Sandbox>(api, target, signal);
  if (sandbox) return sandbox;
  throw new SandboxNotFoundError(`Cannot find Sandbox ${namespace}/${name}: there is none`, { object: refOf(target) });
}

/** A claim, or a Sandbox without a claim. */
export interface Target {
  kind: "SandboxClaim" | "Sandbox";
  namespace: string;
  name: string;
}

const RESOURCES = { SandboxClaim: "sandboxclaims", Sandbox: "sandboxes" } as const;

/** Returns its path in the API. */
export function placeOf({ kind, namespace, name }: Target): ObjectPath & { name: string } {
  return { resource: RESOURCES[kind], namespace, name };
}

/** Returns its reference for errors. */
export function refOf({ kind, namespace, name }: Target): ObjectRef {
  return { kind, namespace, name };
}

/** Returns its name for messages: `claim team-a/demo`. */
export function wordsFor({ kind, namespace, name }: Target): string {
  return `${kind === "Sandbox" ? "sandbox" : "claim"} ${namespace}/${name}`;
}

const PAGE = 100;
/** Kinds in the order in which they are listed. */
const LISTED = ["SandboxClaim", "Sandbox"] as const;

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
  const kind = LISTED[Number(index)] ?? "Sandbox";
  const resource = RESOURCES[kind];
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
    object: { kind, ...namespace === undefined ? {} : { namespace }, name: "" },
    signal,
  });
  // The API server does not set the kind of items in a list.
  const claimsAndSandboxes = items.map((item) => ({ ...item, kind }) as ClaimOrSandbox).filter(isTop);
  const next = metadata.continue
    ? `${index} ${metadata.continue}`
    : Number(index) + 1 < LISTED.length
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
