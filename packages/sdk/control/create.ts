/** Creates a claim, or a Sandbox from an image, exactly once. @module */
import { CLIENT_REQUESTED_ANNOTATION } from "../../api/objects/keys.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import { ConflictError, ConnectionError, type ObjectRef } from "../errors.ts";
import type { CreateOptions } from "../options.ts";
import { checkOptions, claimBody, coldPoolBody, sandboxBody, withoutEndless } from "./bodies.ts";
import { placeOf, refOf, type Target, wordsFor } from "./find.ts";
import { callAPI, callAPIIfFound } from "./kube.ts";
import type { ClaimOrSandbox } from "./readiness.ts";

/** The new object, as the API server returned it. */
export interface Created {
  target: Target;
  claimOrSandbox: ClaimOrSandbox;
}

/**
 * Creates a claim or a Sandbox; does not wait until it is Ready.
 *
 * @param trace headers that pass on the current trace; empty if there is none
 * @throws {@link InvalidArgumentError} if an option is invalid, or two contradict each other
 * @throws {@link ConflictError} if an object of that name exists
 */
export async function create(
  api: Api,
  namespace: string,
  given: CreateOptions,
  now: Date,
  trace: Record<string, string>,
): Promise<Created> {
  checkOptions(given);
  const options = withoutEndless(given);
  const { name = `sandbox-${randomSuffix()}`, image, pool, template, signal } = options;
  const target: Target = { kind: image === undefined ? "SandboxClaim" : "Sandbox", namespace, name };
  const creation = { name, now, trace };
  const body = image === undefined
    ? claimBody(options, pool ?? await poolOf(api, namespace, template ?? "", signal), creation)
    : sandboxBody(options, creation);
  const claimOrSandbox = await createOnce<ClaimOrSandbox>(
    api,
    placeOf(target),
    refOf(target),
    body,
    `create ${wordsFor(target)}`,
    signal,
  );
  return { target, claimOrSandbox };
}

/** Returns the pool of a template with the most Ready Sandboxes. If there is none, creates a pool of size 0. */
async function poolOf(api: Api, namespace: string, template: string, signal: AbortSignal | undefined): Promise<string> {
  const place = { resource: "sandboxwarmpools", namespace } as const;
  const object = { kind: "SandboxTemplate", namespace, name: template };
  const action = `find a pool of template ${namespace}/${template}`;
  const { items } = await callAPI<{ items: SandboxWarmPool[] }>(api, {
    method: "GET",
    path: pathOf(place),
    action,
    object,
    signal,
  });
  const ready = ({ status }: SandboxWarmPool) => status?.readyReplicas ?? 0;
  const [fullest] = items.filter(({ spec, metadata }) =>
    spec.sandboxTemplateRef.name === template && !metadata.deletionTimestamp
  )
    .sort((a, b) => ready(b) - ready(a));
  if (fullest) return fullest.metadata.name;
  const name = `${template}-cold`;
  const made = { kind: "SandboxWarmPool", namespace, name };
  try {
    const body = coldPoolBody(name, template);
    await callAPI(api, {
      method: "POST",
      path: pathOf(place),
      body,
      action: `create pool ${namespace}/${name}`,
      object: made,
      repeatable: true,
      signal,
    });
  } catch (error) {
    // Another client created it at the same time.
    if (!(error instanceof ConflictError)) throw error;
  }
  return name;
}

/**
 * Creates an object whose name is known. If the response is lost, it reads the object to see whether it was created.
 *
 * An existing object is ours if it has the same annotation with the time of the request.
 */
async function createOnce<T extends KubeObject>(
  api: Api,
  place: ObjectPath & { name: string },
  object: ObjectRef,
  body: object,
  action: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { name: _, ...collection } = place;
  const post = () => callAPI<T>(api, { method: "POST", path: pathOf(collection), body, action, object, signal });
  try {
    return await post();
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const found = await callAPIIfFound<T>(api, { method: "GET", path: pathOf(place), action, object, signal });
    if (!found) return await post();
    const asked = (one: object) => (one as KubeObject).metadata.annotations?.[CLIENT_REQUESTED_ANNOTATION];
    if (asked(found) === asked(body)) return found;
    throw new ConflictError(`Cannot ${action}: there is one of that name`, { object, cause: error });
  }
}

function randomSuffix(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => "0123456789abcdefghijklmnopqrstuvwxyz"[byte % 36]).join("");
}
