/** The diagnosis codes about hookbox's kinds, about refusals by the API server, and about hookbox itself. @module */
import { type Entry, final, transient } from "./entry.ts";

export const OBJECT_CODES = {
  // The object itself.
  Ready: transient("The object is Ready.", "Do nothing."),
  NotFound: final(
    "The object does not exist.",
    "Check name and namespace: kubectl get sandboxclaims,sandboxes,sandboxwarmpools -A.",
  ),
  BeingDeleted: transient(
    "The object is being deleted.",
    "Wait until it is deleted. If you still need it, create it again.",
  ),
  Suspended: final(
    "The Sandbox is suspended: its Pod was deleted, its volumes are kept.",
    "Resume it: set spec.operatingMode to Running.",
  ),
  Expired: final(
    "The object has expired: spec.shutdownTime or ttlSecondsAfterFinished has passed.",
    "Create it again with a later shutdownTime.",
  ),
  Starting: transient("The object is starting, and nothing is wrong so far.", "Wait."),
  NotReady: transient(
    "The object is not Ready, and no cause was found.",
    "Look at the evidence, and at the logs of the Pod and of hookbox.",
  ),
  // Claims and the objects to which they refer.
  WarmPoolNotFound: final(
    "The claim's pool does not exist.",
    "Create the SandboxWarmPool, or name another one in spec.warmPoolRef.",
  ),
  TemplateNotFound: final(
    "The pool's template does not exist.",
    "Create the SandboxTemplate, or name another one in spec.sandboxTemplateRef of the pool.",
  ),
  NetworkPolicyMissing: transient(
    "The template's NetworkPolicy is missing or out of date. No sandbox of the template starts without it.",
    "Fix what the evidence names. If you restrict the network yourself, set spec.networkPolicyManagement to Unmanaged.",
  ),
  InvalidMetadata: final(
    "The claim sets labels or annotations that are not allowed.",
    "Change spec.additionalPodMetadata of a new claim.",
  ),
  EnvVarsInjectionRejected: final(
    "The claim sets environment variables that its template does not allow.",
    "Remove spec.env from the claim, or set spec.envVarsInjectionPolicy of the template.",
  ),
  VolumeClaimTemplatesError: final(
    "The claim adds volumes that its template does not allow.",
    "Remove spec.volumeClaimTemplates from the claim, or set spec.volumeClaimTemplatesPolicy of the template.",
  ),
  ClaimRejected: final(
    "The claim asks for something that its template does not support.",
    "Change the claim as the evidence says.",
  ),
  SandboxNameTaken: final(
    "The claim needs a new Sandbox with the claim's name, but another Sandbox has that name.",
    "Create the claim under another name, or delete that Sandbox.",
  ),
  SandboxLost: transient(
    "The claim's Sandbox was deleted. The binder assigns another one to the claim.",
    "Wait for the next Sandbox. Find out who deletes Sandboxes of claims.",
  ),
  BinderDown: transient(
    "No process holds the Lease hookbox-binder, so the binder is not running and claims get no Sandboxes.",
    "Run hookbox binder, or hookbox keeper without --no-binder. If one of them runs, read its log.",
  ),
  // Refusals by the API server.
  QuotaExceeded: final(
    "A ResourceQuota is used up.",
    "Raise spec.hard of the ResourceQuota, or delete objects that count towards it.",
  ),
  QuotaNeedsResources: final(
    "A ResourceQuota requires resource requests or limits that the Pod does not set.",
    "Set the requests and limits that the evidence names in the containers' resources.",
  ),
  LimitRangeViolation: final(
    "A LimitRange does not allow the containers' resource requests or limits.",
    "Change the containers' resources, or the LimitRange: kubectl describe limitrange.",
  ),
  PodSecurityViolation: final(
    "The namespace's Pod Security level does not allow the Pod.",
    "Set the securityContext fields in the evidence, or lower the namespace's label pod-security.kubernetes.io/enforce.",
  ),
  AdmissionPolicyDenied: final(
    "A ValidatingAdmissionPolicy refuses the object.",
    "Change the spec as the policy's message says, or change the policy.",
  ),
  AdmissionWebhookDenied: final(
    "An admission webhook refuses the object.",
    "Change the spec as the webhook's message says.",
  ),
  AdmissionWebhookUnreachable: transient(
    "An admission webhook does not answer, so nothing can be created.",
    "Fix the webhook, or delete its configuration: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations.",
  ),
  ServiceAccountNotFound: final(
    "The Pod's ServiceAccount does not exist.",
    "Create the ServiceAccount, or change serviceAccountName in the Pod's spec.",
  ),
  RuntimeClassNotFound: final(
    "The Pod's RuntimeClass does not exist.",
    "Create the RuntimeClass, or change runtimeClassName in the Pod's spec.",
  ),
  PriorityClassNotFound: final(
    "The Pod's PriorityClass does not exist.",
    "Create the PriorityClass, or change priorityClassName in the Pod's spec.",
  ),
  NamespaceTerminating: final("The namespace is being deleted.", "Use another namespace."),
  ControllerForbidden: final(
    "A ServiceAccount of hookbox or Metacontroller lacks a right that it needs.",
    "Install the roles of this version: hookbox install --apply. For Metacontroller, apply deploy/metacontroller.",
  ),
  InvalidConfiguration: final(
    "The spec is invalid: the API server refused an object that hookbox creates from it.",
    "Change the field that the evidence names.",
  ),
  ChildRefused: final(
    "The API server refused an object that the Sandbox needs.",
    "Fix the cause in the API server's message, which is in the evidence.",
  ),
  NameTaken: final(
    "A Pod, Service or PersistentVolumeClaim with the Sandbox's name belongs to another owner.",
    "Delete that object, label it agents.x-k8s.io/adoptable=true, or use another name.",
  ),
  PodLost: transient(
    "Something deletes the Pod again and again, and hookbox waits longer each time before it creates the next one.",
    "Find out what deletes the Pod, for example in the API server's audit log: a descheduler, a policy, a script.",
  ),
  MultiplePods: final(
    "More than one Pod belongs to the Sandbox. A Sandbox needs exactly one.",
    "Delete all of these Pods but one: kubectl delete pod.",
  ),
  // hookbox itself.
  HookFailing: transient(
    "Metacontroller cannot reach the hook, or the hook returns an error.",
    "Look at the hook's log, and check that the hook's Deployment runs.",
  ),
  ControllerSilent: transient(
    "The object has not been reconciled since it was created, or since its spec changed.",
    "Check that Metacontroller and the hooks run. Look in the hooks' logs for refused answers (429).",
  ),
} as const satisfies Record<string, Entry>;
