/** Creates a claim, or a Sandbox from an image, exactly once; deletes it again if the call fails. @module */
import { CLIENT_REQUESTED_ANNOTATION } from "../../api/objects/keys.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import {
  AuthorizationError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  type ObjectRef,
  SandboxError,
  TemplateError,
  TimeoutError,
  withLeftover,
} from "../errors.ts";
import type { CreateOptions } from "../options.ts";
import { after } from "../runtime/repeat.ts";
import { checkOptions, claimBody, coldPoolBody, complete, sandboxBody } from "./bodies.ts";
import { removeObject } from "./change.ts";
import { isNamespaceMissing, placeOf, refOf, type Target, wordsFor } from "./find.ts";
import { type ActionRequest, callAPI, callAPIIfFound, NAMESPACE_ADVICE } from "./kube.ts";
import { checkNetwork, checkTemplateRules } from "./network.ts";
import type { ClaimOrSandbox } from "./readiness.ts";

/** The new object, as the API server returned it. */
export interface Created {
  target: Target;
  claimOrSandbox: ClaimOrSandbox;
  /** Everything that the call has created, oldest first. {@link discard} deletes it. */
  made: MadeObject[];
}

/** An object that a call has created. */
export interface MadeObject {
  place: ObjectPath & { name: string };
  object: ObjectRef;
  uid: string | undefined;
}

/** What a caller of {@link create} knows besides the options. */
export interface Creator {
  now: Date;
  /** Headers that pass on the current trace; empty if there is none. */
  trace: Record<string, string>;
  /** Whether the client has a router, which suspends idle sandboxes. */
  hasRouter: boolean;
}

/**
 * Creates a claim or a Sandbox; does not wait until it is Ready. If the call fails or is aborted, nothing that it has
 * created is left, as far as the API server answers.
 *
 * @throws {@link InvalidArgumentError} if an option is invalid, or two contradict each other
 * @throws {@link TemplateError} if the template does not exist, or does not allow what `network` lists
 * @throws {@link ConflictError} if an object of that name exists
 */
export async function create(
  api: Api,
  namespace: string,
  given: CreateOptions,
  { now, trace, hasRouter }: Creator,
): Promise<Created> {
  checkOptions(given, hasRouter);
  await checkNetwork(given);
  const options = complete(given);
  const { name = `sandbox-${randomSuffix()}`, image, timeoutMs, signal, keepFailed } = options;
  const target: Target = { kind: image === undefined ? "SandboxClaim" : "Sandbox", namespace, name };
  const [place, object, action] = [placeOf(target), refOf(target), `create ${wordsFor(target)}`];
  const made: MadeObject[] = [];
  try {
    const pool = image === undefined ? options.pool ?? await poolOf(api, namespace, options, { now, made }) : undefined;
    if (pool !== undefined) await checkTemplateRules(api, namespace, pool, options);
    const begin = timeoutMs === undefined ? now : await serverTime(api, now, signal);
    const creation = { name, now, begin, trace };
    const body = pool === undefined ? sandboxBody(options, creation) : claimBody(options, pool, creation);
    const claimOrSandbox = await answered<ClaimOrSandbox>(api, { place, object, body, action }, signal);
    made.push({ place, object, uid: claimOrSandbox.metadata.uid });
    if (!keepFailed) signal?.throwIfAborted();
    return { target, claimOrSandbox, made };
  } catch (error) {
    const isLeft = error instanceof SandboxError && error.leftover !== undefined;
    throw await discard(api, made, signal?.aborted && !isLeft ? signal.reason : error);
  }
}

/**
 * Returns the API server's time, by which a sandbox ends. An hour on a machine whose clock is an hour late would be over
 * at once. If the client knows the time from no answer yet, a small request asks for one.
 */
async function serverTime(api: Api, now: Date, signal: AbortSignal | undefined): Promise<Date> {
  if (api.now && api.now() === undefined) {
    // If there is no answer, the creation itself fails with the cause.
    await api.send({ method: "GET", path: "/api", signal }).catch(() => {});
  }
  return new Date(api.now?.() ?? now);
}

/** How long a failed call may take to delete what it has created, in milliseconds. */
const DISCARD_MS = 10_000;

/**
 * Deletes what a failed call has created, in the reverse order. A pool that claims of other calls use stays.
 *
 * @returns the error to throw: `error`, or if something is left, an error that names it
 */
export async function discard(api: Api, made: readonly MadeObject[], error: unknown): Promise<unknown> {
  const signal = AbortSignal.timeout(DISCARD_MS);
  const left = [...made];
  try {
    for (let last = left.at(-1); last; last = left.at(-1)) {
      if (last.place.resource !== "sandboxwarmpools" || !await isPoolUsed(api, last, signal)) {
        await removeObject(api, last, signal);
      }
      left.pop();
    }
    return error;
  } catch (failure) {
    const why = (failure instanceof Error ? failure.message : String(failure)).replace(/\.$/, "");
    return withLeftover(error, left.map(({ object }) => object), why);
  }
}

async function isPoolUsed(api: Api, { place, object }: MadeObject, signal: AbortSignal): Promise<boolean> {
  const { items } = await callAPI<{ items: SandboxClaim[] }>(api, {
    method: "GET",
    path: pathOf({ resource: "sandboxclaims", namespace: place.namespace }),
    action: `list the claims of pool ${place.namespace}/${place.name}`,
    object,
    signal,
  });
  return items.some(({ spec, metadata }) => spec.warmPoolRef.name === place.name && !metadata.deletionTimestamp);
}

/** Returns the pool of a template with the most Ready Sandboxes. If there is none, creates a pool of size 0. */
async function poolOf(
  api: Api,
  namespace: string,
  { template = "", signal }: CreateOptions,
  { now, made }: { now: Date; made: MadeObject[] },
): Promise<string> {
  const object = { kind: "SandboxTemplate", namespace, name: template };
  const request = {
    method: "GET",
    action: `find a pool of template ${namespace}/${template}`,
    object,
    signal,
  } as const;
  const path = pathOf({ resource: "sandboxwarmpools", namespace });
  const { items } = await callAPI<{ items: SandboxWarmPool[] }>(api, { ...request, path });
  const ready = ({ status }: SandboxWarmPool) => status?.readyReplicas ?? 0;
  const [fullest] = items.filter(({ spec, metadata }) =>
    spec.sandboxTemplateRef.name === template && !metadata.deletionTimestamp
  )
    .sort((a, b) => ready(b) - ready(a));
  if (fullest) return fullest.metadata.name;
  await checkTemplate(api, request);
  const place = { resource: "sandboxwarmpools", namespace, name: `${template}-cold` } as const;
  const pool = { kind: "SandboxWarmPool", namespace, name: place.name };
  const body = coldPoolBody(place.name, template, now);
  try {
    const action = `create pool ${namespace}/${place.name}`;
    const { metadata: { uid } } = await answered<KubeObject>(api, { place, object: pool, body, action }, signal);
    made.push({ place, object: pool, uid });
  } catch (error) {
    // Another client created it at the same time.
    if (!(error instanceof ConflictError)) throw error;
  }
  return place.name;
}

/** @throws {@link TemplateError} if the template does not exist; not if the user may not read templates */
async function checkTemplate(api: Api, request: Omit<ActionRequest, "path">): Promise<void> {
  const { action, object: { kind, namespace = "", name }, signal } = request;
  const path = pathOf({ resource: "sandboxtemplates", namespace, name });
  const isForbidden = (error: unknown) => {
    if (error instanceof AuthorizationError) return true;
    throw error;
  };
  if (await callAPIIfFound(api, { ...request, path }).catch(isForbidden)) return;
  if (await isNamespaceMissing(api, namespace, signal)) {
    throw new NotFoundError(`Cannot ${action}: namespace "${namespace}" does not exist`, {
      object: request.object,
      remedy: NAMESPACE_ADVICE,
    });
  }
  throw new TemplateError(`Cannot ${action}: ${kind} "${name}" does not exist in namespace "${namespace}"`, {
    reason: "TemplateNotFound",
    object: request.object,
    remedy: `Create it, or name one that exists: kubectl get sandboxtemplates -n ${namespace}`,
  });
}

/** An object to create. */
interface NewObject {
  place: ObjectPath & { name: string };
  object: ObjectRef;
  body: object;
  action: string;
}

/** How long an aborted call waits for the answer to a creation, in milliseconds. */
const ANSWER_MS = 5000;

/**
 * Creates an object. If the signal is aborted before the answer, waits some seconds for it, because the API server also
 * carries out a request whose client has left. So an object that is returned may have to be deleted.
 *
 * @throws {@link SandboxError} with `leftover` if there is no answer; the object is then deleted as soon as there is one
 */
async function answered<T extends KubeObject>(
  api: Api,
  wanted: NewObject,
  signal: AbortSignal | undefined,
): Promise<T> {
  signal?.throwIfAborted();
  const { place, object } = wanted;
  const creating = createOnce<T>(api, wanted, signal);
  const late = Promise.withResolvers<undefined>();
  let cancel = () => {};
  const wait = () => cancel = after(ANSWER_MS, () => late.resolve(undefined));
  signal?.addEventListener("abort", wait, { once: true });
  const made = await Promise.race([creating, late.promise]).finally(() => {
    signal?.removeEventListener("abort", wait);
    cancel();
  });
  if (made) return made;
  creating.then(({ metadata: { uid } }) => discard(api, [{ place, object, uid }], undefined)).catch(() => {});
  throw withLeftover(signal?.reason, [object], "the API server has not answered");
}

/**
 * Creates an object whose name is known. If the response is lost, it reads the object to see whether it was created.
 *
 * An existing object is ours if it has the same annotation with the time of the request.
 */
async function createOnce<T extends KubeObject>(
  api: Api,
  { place, object, body, action }: NewObject,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { name: _, ...collection } = place;
  const asked = (one: object) => (one as KubeObject).metadata.annotations?.[CLIENT_REQUESTED_ANNOTATION];
  for (let isRepeated = false;; isRepeated = true) {
    try {
      return await callAPI<T>(api, { method: "POST", path: pathOf(collection), body, action, object });
    } catch (error) {
      const mayExist = error instanceof ConnectionError || error instanceof TimeoutError;
      if (!mayExist && !(isRepeated && error instanceof ConflictError)) throw error;
      const found = await callAPIIfFound<T>(api, { method: "GET", path: pathOf(place), action, object })
        .catch(() => {
          throw withLeftover(error, [object], "the API server has not answered");
        });
      if (found && asked(found) === asked(body)) return found;
      if (found) throw new ConflictError(`Cannot ${action}: there is one of that name`, { object, cause: error });
      if (isRepeated || signal?.aborted) throw error;
    }
  }
}

function randomSuffix(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => "0123456789abcdefghijklmnopqrstuvwxyz"[byte % 36]).join("");
}
