/** Labels and annotations of a Sandbox's Pod: the template's own, and what the controllers keep track by. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import {
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  isEngineKey,
  isReservedKey,
  NAME_HASH_LABEL,
  PROPAGATED_ANNOTATIONS_ANNOTATION,
  PROPAGATED_LABELS_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../../lib/keys.ts";
import { nameHash } from "../../lib/names.ts";
import { controllerOf, groupOf } from "../../lib/objects.ts";

const EXTENSIONS_GROUP = "extensions.agents.x-k8s.io";
const KNOWN_CLIENTS = new Set(["go-client", "python-client", "controller"]);

type StringMap = Record<string, string>;

/**
 * Computes the Pod's labels: the template's without reserved keys, the name hash, what an extension owner passes on,
 * and the client that asked. Source: Agent Sandbox API, section 2.3; claim-uid as of 1.0.
 *
 * | controller of the Sandbox | labels copied from the Sandbox |
 * |---|---|
 * | none, or of another group | none |
 * | SandboxWarmPool | warm-pool-sandbox, sandbox-template-ref-hash |
 * | SandboxClaim | claim-uid, sandbox-template-ref-hash |
 */
export function podLabels(sandbox: Sandbox): StringMap {
  const own = sandbox.metadata.labels ?? {};
  const client = own[CREATED_BY_LABEL];
  return {
    ...propagatedLabels(sandbox),
    [NAME_HASH_LABEL]: nameHash(sandbox.metadata.name),
    ...picked(own, extensionKeys(sandbox)),
    ...(client === undefined ? {} : { [CREATED_BY_LABEL]: KNOWN_CLIENTS.has(client) ? client : "unknown" }),
  };
}

/** Computes the Pod's annotations: the template's, and the lists of the keys that came from the template. */
export function podAnnotations(sandbox: Sandbox): StringMap {
  const annotations = propagatedAnnotations(sandbox);
  return {
    ...annotations,
    ...keyList(PROPAGATED_LABELS_ANNOTATION, propagatedLabels(sandbox)),
    ...keyList(PROPAGATED_ANNOTATIONS_ANNOTATION, annotations),
  };
}

function propagatedLabels(sandbox: Sandbox): StringMap {
  return filtered(sandbox.spec.podTemplate.metadata?.labels ?? {}, isPropagated);
}

function propagatedAnnotations(sandbox: Sandbox): StringMap {
  const template = sandbox.spec.podTemplate.metadata?.annotations ?? {};
  return filtered(template, (key) => isPropagated(key) && key !== TRACE_CONTEXT_ANNOTATION);
}

function isPropagated(key: string): boolean {
  return !isReservedKey(key) && !isEngineKey(key);
}

function extensionKeys(sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox.metadata);
  if (!owner || groupOf(owner.apiVersion) !== EXTENSIONS_GROUP) return [];
  if (owner.kind === "SandboxWarmPool") return [WARM_POOL_LABEL, TEMPLATE_REF_HASH_LABEL];
  if (owner.kind === "SandboxClaim") return [CLAIM_UID_LABEL, TEMPLATE_REF_HASH_LABEL];
  return [TEMPLATE_REF_HASH_LABEL];
}

function picked(map: StringMap, keys: string[]): StringMap {
  return filtered(map, (key) => keys.includes(key));
}

function filtered(map: StringMap, keep: (key: string) => boolean): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => keep(key)));
}

function keyList(annotation: string, map: StringMap): StringMap {
  const keys = Object.keys(map).sort();
  return keys.length === 0 ? {} : { [annotation]: keys.join(",") };
}
