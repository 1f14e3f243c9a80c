/** Creates a claim, or a Sandbox of an image, once. @module */
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { CLIENT_REQUESTED_ANNOTATION } from "../../api/objects/keys.ts";
import { ConflictError, ConnectionError, type ObjectRef } from "../errors.ts";
import type { CreateOptions } from "../options.ts";
import { checkOptions, claimBody, coldPoolBody, sandboxBody, withoutEndless } from "./bodies.ts";
import { ask, askIfAny } from "./kube.ts";
import type { ClaimOrSandbox } from "./readiness.ts";
import { placeOf, refOf, type Target, wordsFor } from "./target.ts";

/** What was created, as the API server answered. */
export interface Created {
  target: Target;
  claimOrSandbox: ClaimOrSandbox;
}

/**
 * Creates it; waits for nothing.
 *
 * @param trace what carries the trace under way, by name; empty: there is none
 * @throws {@link InvalidArgumentError} if the options make no sense
 * @throws {@link ConflictError} if there is one of that name
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

/** Returns the pool of a template that has most left, or one of size 0 that is made if it is not there. */
async function poolOf(api: Api, namespace: string, template: string, signal: AbortSignal | undefined): Promise<string> {
  const place = { resource: "sandboxwarmpools", namespace } as const;
  const object = { kind: "SandboxTemplate", namespace, name: template };
  const action = `find a pool of template ${namespace}/${template}`;
  const { items } = await ask<{ items: SandboxWarmPool[] }>(api, {
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
    await ask(api, {
      method: "POST",
      path: pathOf(place),
      body,
      action: `create pool ${namespace}/${name}`,
      object: made,
      repeatable: true,
      signal,
    });
  } catch (error) {
    // Somebody else has made it just now.
    if (!(error instanceof ConflictError)) throw error;
  }
  return name;
}

/**
 * Posts an object of a name that is known before: when the answer is lost, it is looked whether it is there.
 *
 * What is there is ours if it says the same of when it was asked for.
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
  const post = () => ask<T>(api, { method: "POST", path: pathOf(collection), body, action, object, signal });
  try {
    return await post();
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const found = await askIfAny<T>(api, { method: "GET", path: pathOf(place), action, object, signal });
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
