/** Reads the messages of other components: refusals by the API server, errors that Metacontroller quotes, problems of a kubelet. @module */
import type { Code } from "./catalogue.ts";
import type { ObjectRef } from "./finding.ts";

/** A refusal whose message is known. */
export interface Refusal {
  code: Code;
  /** The object that is the reason for the refusal; undefined: the message names none. */
  object?: ObjectRef;
}

interface Pattern {
  code: Code;
  words: RegExp;
  /** Kind of the object that the first group of `words` matches. `Namespace`: the object's own namespace. */
  kind?: string;
  isScoped?: boolean;
}

/**
 * The first pattern that matches decides. Source: k8s.io/kubernetes plugin/pkg/admission and apiserver's admission
 * plugins, 1.36.
 */
const PATTERNS: Pattern[] = [
  { code: "NamespaceTerminating", words: /because it is being terminated/, kind: "Namespace" },
  { code: "QuotaExceeded", words: /exceeded quota: "?([^\s,"]+)/, kind: "ResourceQuota", isScoped: true },
  { code: "QuotaNeedsResources", words: /failed quota: "?([^\s,:"]+)/, kind: "ResourceQuota", isScoped: true },
  { code: "PodSecurityViolation", words: /violates PodSecurity/, kind: "Namespace" },
  {
    code: "AdmissionPolicyDenied",
    words: /ValidatingAdmissionPolicy '([^']+)'.*denied request/s,
    kind: "ValidatingAdmissionPolicy",
  },
  { code: "AdmissionWebhookUnreachable", words: /failed calling webhook/ },
  { code: "AdmissionWebhookDenied", words: /admission webhook "[^"]+" denied the request/ },
  { code: "RuntimeClassNotFound", words: /RuntimeClass "([^"]+)" not found/, kind: "RuntimeClass" },
  {
    code: "ServiceAccountNotFound",
    words: /service account [^\s]+: serviceaccount "([^"]+)" not found/,
    kind: "ServiceAccount",
    isScoped: true,
  },
  { code: "PriorityClassNotFound", words: /no PriorityClass with name (\S+) was found/, kind: "PriorityClass" },
  { code: "LimitRangeViolation", words: /(?:maximum|minimum) \S+ usage per |max limit to request ratio/ },
  { code: "ControllerForbidden", words: /is forbidden: User "/ },
  { code: "NameTaken", words: /cannot adopt|is owned by |(?:exists and is|it is|is) not controlled by / },
  { code: "InvalidConfiguration", words: /is invalid: / },
];

/** Reads a refusal; undefined: no pattern matches the message. */
export function readRefusal(text: string, namespace: string | undefined): Refusal | undefined {
  for (const { code, words, kind, isScoped } of PATTERNS) {
    const match = words.exec(text);
    if (!match) continue;
    const name = kind === "Namespace" ? namespace : match[1];
    if (kind === undefined || name === undefined) return { code };
    return { code, object: { kind, ...(isScoped && namespace !== undefined ? { namespace } : {}), name } };
  }
  return undefined;
}

/**
 * The text that Metacontroller puts before the message in an Event. If Events are similar, client-go adds a prefix of
 * its own.
 */
const SYNC_ERROR = /^(?:\(combined from similar events\): )?Sync error: (?:can't reconcile children for [^:]*: )?/;

/** Returns the message that a SyncError Event quotes, from the API server or from a hook. */
export function quotedError(message: string): string {
  return message.replace(SYNC_ERROR, "");
}

/** Reasons for which the API server refuses only the creation of an object. */
const OF_CREATIONS: readonly Code[] = [
  "NamespaceTerminating",
  "QuotaExceeded",
  "QuotaNeedsResources",
  "PodSecurityViolation",
  "RuntimeClassNotFound",
  "ServiceAccountNotFound",
  "PriorityClassNotFound",
  "LimitRangeViolation",
];

/**
 * Tells whether a message is of a refusal that only affects creations, and no updates of labels or annotations and no
 * deletions.
 */
export function isCreationRefused(text: string): boolean {
  const refusal = readRefusal(text, undefined);
  return refusal !== undefined && OF_CREATIONS.includes(refusal.code);
}

/** Tells whether a quota is the reason of a refusal. */
export function isQuotaExceeded(text: string): boolean {
  return text.includes("exceeded quota");
}

/** A right that an account lacks. */
export interface LackedRight {
  /** The user name, such as `system:serviceaccount:hookbox-system:hookbox-binder`. */
  account: string;
  /** Verb and resource, as for `kubectl auth can-i`: `get sandboxtemplates.extensions.agents.x-k8s.io`. */
  right: string;
}

/** Source: responsewriters.Forbidden of k8s.io/apiserver 1.36. The message has not changed since 1.14. */
const WORDS = /is forbidden: User "([^"]+)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"/;

/** Reads a refusal; undefined: the refusal is not RBAC's, but for example a quota's or an admission policy's. */
export function lackedRight(message: string): LackedRight | undefined {
  const [, account, verb, resource = "", group] = WORDS.exec(message) ?? [];
  if (account === undefined) return undefined;
  return { account, right: `${verb} ${group ? resource.replace(/(?=\/|$)/, `.${group}`) : resource}` };
}

/** Source: k8s.io/kubernetes pkg/kubelet/util/manager, 1.36. */
const TRANSIENT = /failed to sync (?:secret|configmap) cache/;

/** Tells whether the problem in a kubelet's message passes without help, whatever its reason is. */
export function isTransient(message: string): boolean {
  return TRANSIENT.test(message);
}
