/** Changes a claim or a Sandbox: its operating mode, its end and its annotations; or deletes it. @module */
import { findCondition } from "../../api/objects/conditions.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import { ConflictError, InvalidArgumentError, NotFoundError, type ObjectRef, SandboxNotFoundError } from "../errors.ts";
import { isEndless, lifetime } from "./bodies.ts";
import { placeOf, readIfAny, refOf, type Target, wordsFor } from "./find.ts";
import { callAPI } from "./kube.ts";
import { type ClaimOrSandbox, readinessOf, shutdownTimeOf } from "./readiness.ts";
import { statesOf } from "./states.ts";

/** Sets the operating mode of a Sandbox; does not wait for its Pod. Returns the changed Sandbox. */
export async function setMode(
  api: Api,
  target: Target,
  operatingMode: "Running" | "Suspended",
  signal?: AbortSignal,
): Promise<Sandbox> {
  const action = `${operatingMode === "Running" ? "resume" : "suspend"} ${wordsFor(target)}`;
  return await patch<Sandbox>(api, target, { spec: { operatingMode } }, action, signal);
}

/**
 * Waits until a Sandbox that is being suspended has no Pod any more.
 *
 * @throws {@link ConflictError} if it is resumed before that, for example by a request through a router
 */
export async function untilSuspended(api: Api, target: Target, known: Sandbox, signal: AbortSignal): Promise<void> {
  await untilState<Sandbox>(api, target, { known, signal }, (sandbox) => {
    if (!sandbox) {
      throw new SandboxNotFoundError(`Cannot suspend ${wordsFor(target)}: it was deleted`, { object: refOf(target) });
    }
    if (sandbox.spec.operatingMode !== "Suspended") {
      throw new ConflictError(`Cannot suspend ${wordsFor(target)}: it was resumed in the meantime`, {
        object: refOf(target),
        remedy: "A request to it wakes it; suspend it again when there are none.",
      });
    }
    const { generation = 0 } = sandbox.metadata;
    const suspended = findCondition(sandbox.status?.conditions, "Suspended");
    return suspended?.status === "True" && (suspended.observedGeneration ?? generation) >= generation;
  });
}

/** Waits until a claim is not Ready any more, or is deleted. Its status follows that of its Sandbox a moment later. */
export async function untilNotReady(api: Api, target: Target, signal: AbortSignal): Promise<void> {
  await untilState<ClaimOrSandbox>(api, target, { signal }, (claim) => !claim || readinessOf(claim).state !== "ready");
}

async function untilState<T extends ClaimOrSandbox>(
  api: Api,
  target: Target,
  { known, signal }: { known?: T; signal: AbortSignal },
  holds: (state: T | undefined) => boolean,
): Promise<void> {
  const end = new AbortController();
  const both = AbortSignal.any([signal, end.signal]);
  const which = { path: placeOf(target), object: refOf(target), signal: both, ...known ? { known } : {} };
  try {
    for await (const state of statesOf<T>(api, which)) if (holds(state)) return;
  } finally {
    end.abort();
  }
}

/** Sets the time until the object is deleted, in milliseconds from now. Null: never. Returns that time. */
export async function setTimeoutOf(
  api: Api,
  target: Target,
  ms: number | null,
  now: Date,
  signal?: AbortSignal,
): Promise<Date | undefined> {
  if (ms !== null && !(ms > 0)) {
    throw new InvalidArgumentError(`Cannot set the timeout of ${wordsFor(target)}: ${ms} ms is not above 0`, {
      remedy: "`kill` ends it at once.",
    });
  }
  const end = ms === null || isEndless(ms) ? null : ms;
  return endOf(
    await patch<ClaimOrSandbox>(
      api,
      target,
      ending(target, end, now),
      `set the timeout of ${wordsFor(target)}`,
      signal,
    ),
  );
}

/** Number of tries if other clients change the object between our read and our write. */
const TRIES = 8;

/** Extends the time until the object is deleted; returns it. @throws {@link InvalidArgumentError} if it has no end */
export async function extendTimeoutOf(api: Api, target: Target, ms: number, signal?: AbortSignal): Promise<Date> {
  const action = `extend the timeout of ${wordsFor(target)}`;
  if (isEndless(ms)) {
    throw new InvalidArgumentError(`Cannot ${action}: ${ms} ms is endless`, { remedy: "Use `setTimeout(null)`." });
  }
  let tried: number | undefined;
  for (let tries = 1;; tries++) {
    const claimOrSandbox = await readIfAny<ClaimOrSandbox>(api, target, signal);
    if (!claimOrSandbox) {
      throw new SandboxNotFoundError(`Cannot ${action}: it does not exist`, { object: refOf(target) });
    }
    const end = endOf(claimOrSandbox);
    if (!end) {
      throw new InvalidArgumentError(`Cannot ${action}: it has none`, { remedy: "Give it one by `setTimeout`." });
    }
    // The response to the last try was lost, but the change had been made.
    if (end.getTime() === tried) return end;
    const { resourceVersion } = claimOrSandbox.metadata;
    const { shutdownTime } = lifetime(ms, end);
    tried = new Date(shutdownTime).getTime();
    try {
      // Conditional on the version, so that two extensions at the same time are both counted.
      await patch(api, target, { metadata: { resourceVersion }, ...ending(target, ms, end) }, action, signal);
      return new Date(tried);
    } catch (error) {
      if (!(error instanceof ConflictError) || tries === TRIES) throw error;
    }
  }
}

/** Deletes the object; returns false if it does not exist. @param uid if set, only the object of this UID is deleted */
export async function remove(
  api: Api,
  target: Target,
  uid: string | undefined,
  signal?: AbortSignal,
): Promise<boolean> {
  return await removeObject(api, { place: placeOf(target), object: refOf(target), uid }, signal);
}

/** Deletes an object of any kind, as {@link remove} does. */
export async function removeObject(
  api: Api,
  { place, object, uid }: { place: ObjectPath & { name: string }; object: ObjectRef; uid: string | undefined },
  signal?: AbortSignal,
): Promise<boolean> {
  const body = { propagationPolicy: "Background", ...uid === undefined ? {} : { preconditions: { uid } } };
  const action = `delete ${NOUNS[place.resource] ?? place.resource} ${object.namespace}/${object.name}`;
  try {
    await callAPI(api, { method: "DELETE", path: pathOf(place), body, action, object, signal });
    return true;
  } catch (error) {
    const isGone = error instanceof (object.kind === "SandboxWarmPool" ? NotFoundError : SandboxNotFoundError);
    if (isGone || (error instanceof ConflictError && uid !== undefined)) return false;
    throw error;
  }
}

const NOUNS: Partial<Record<ObjectPath["resource"], string>> = {
  sandboxes: "sandbox",
  sandboxclaims: "claim",
  sandboxwarmpools: "pool",
};

/** Sets annotations of a Sandbox. */
export async function annotate(
  api: Api,
  target: Target,
  annotations: Record<string, string>,
  signal?: AbortSignal,
): Promise<void> {
  await patch(api, target, { metadata: { annotations } }, `annotate ${wordsFor(target)}`, signal);
}

async function patch<T>(
  api: Api,
  target: Target,
  body: object,
  action: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  return await callAPI<T>(api, {
    method: "PATCH",
    path: pathOf(placeOf(target)),
    body,
    action,
    object: refOf(target),
    signal,
  });
}

function ending({ kind }: Target, ms: number | null, from: Date): object {
  const fields = ms === null ? { shutdownTime: null } : lifetime(ms, from);
  return { spec: kind === "Sandbox" ? fields : { lifecycle: fields } };
}

function endOf(claimOrSandbox: ClaimOrSandbox): Date | undefined {
  const time = shutdownTimeOf(claimOrSandbox);
  return time === undefined ? undefined : new Date(time);
}
