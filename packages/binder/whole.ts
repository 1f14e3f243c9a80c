/**
 * Which claims are kept whole: those that are small and may be served next. Of the others no more is kept than is read of
 * every claim; all of one is asked for when it is needed, or a few hundred large claims would fill the memory.
 * @module
 */
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { FIRST_OBSERVED_ANNOTATION, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { answerError, type Api, isOk, pathOf } from "../kube/api.ts";
import type { Binder, Entry } from "./state.ts";

/** Claims of more are asked for once more when they are served, in characters of keys and values. Few have a tenth. */
const MOST_KEPT = 16 * 1024;
/** What anybody may write is kept up to this length. */
const LONGEST_VALUE = 8192;

/** Lets go of what is not read of a claim any more: it is large, or has a Sandbox and says so. */
export function keepLess({ index }: Binder, entry: Entry): void {
  const { raw, uid, namespace, place, isTold } = entry;
  // What is served is what was chosen for.
  if (!raw || place === "serving") return;
  const isDone = isTold && index.boundTo(namespace, uid) !== undefined;
  if (!isDone && !isLarge(raw)) return;
  entry.claim = outline(entry.claim);
  entry.raw = undefined;
}

/** Lets a parsed claim have those parts of the observed one that parsing leaves as they are, so that they are there once. */
export function sharing(claim: SandboxClaim, { spec }: SandboxClaim): SandboxClaim {
  const { env, volumeClaimTemplates, additionalPodMetadata } = spec;
  return {
    ...claim,
    spec: {
      ...claim.spec,
      ...(env && { env }),
      ...(volumeClaimTemplates && { volumeClaimTemplates }),
      ...(additionalPodMetadata && { additionalPodMetadata }),
    },
  };
}

/** Asks for all of a claim, untouched by a parser; undefined: it is gone. @throws {Error} if nobody knows */
export async function askForClaim(api: Api, { metadata }: SandboxClaim): Promise<SandboxClaim | undefined> {
  const { namespace, name, uid } = metadata;
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "sandboxclaims", namespace, name }) });
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw answerError(`get SandboxClaim ${namespace}/${name}`, answer);
  const claim = answer.body as SandboxClaim;
  return claim.metadata.uid === uid ? claim : undefined;
}

/** Looks no further than it has to. */
function isLarge(claim: SandboxClaim): boolean {
  let left = MOST_KEPT;
  const rest: unknown[] = [claim];
  while (rest.length > 0 && left > 0) {
    const value = rest.pop();
    // Whatever is no text takes a word, at least.
    left -= typeof value === "string" ? value.length : 8;
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      left -= Array.isArray(value) ? 0 : key.length;
      rest.push(inner);
    }
  }
  return left <= 0;
}

/** What is read of a claim to find its place, to name it, and to see whether it has heard what there is to say. */
function outline({ apiVersion, kind, metadata, spec, status }: SandboxClaim): SandboxClaim {
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp, annotations = {} } = metadata;
  const { warmPoolRef, lifecycle } = spec;
  const { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy = "Retain" } = lifecycle ?? {};
  const kept = [FIRST_OBSERVED_ANNOTATION, UNRESOLVED_ANNOTATION].flatMap((key) => {
    const value = annotations[key];
    return value === undefined || value.length > LONGEST_VALUE ? [] : [[key, value] as const];
  });
  const told = (status?.conditions ?? []).filter(({ type }) => type === "Ready" || type === "Finished");
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace, uid, generation, creationTimestamp, deletionTimestamp },
      annotations: Object.fromEntries(kept),
    },
    spec: {
      warmPoolRef: { name: warmPoolRef.name },
      ...(lifecycle && { lifecycle: { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy } }),
    },
    ...(status && {
      status: {
        conditions: told.map((condition) => ({ ...condition, message: "" })),
        ...(status.sandbox && { sandbox: { name: status.sandbox.name } }),
      },
    }),
  };
}
