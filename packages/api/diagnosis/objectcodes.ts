/** The diagnosis codes about hookbox's kinds, about refusals by the API server, and about hookbox itself. @module */
import { type Entry, final, transient } from "./entry.ts";

export const OBJECT_CODES = {
  // The object itself.
  Ready: transient("All is well.", "Nothing is to be done."),
  NotFound: final(
    "The object asked about does not exist.",
    "Check name and namespace: kubectl get sandboxclaims,sandboxes,sandboxwarmpools -A.",
  ),
  BeingDeleted: transient(
    "The object is being deleted.",
    "Wait until it is gone, then recreate it if it is still wanted.",
  ),
  Suspended: final(
    "The Sandbox is suspended: its Pod is gone, its volumes stay.",
    "Resume it: set spec.operatingMode to Running.",
  ),
  Expired: final(
    "It has expired: spec.shutdownTime or ttlSecondsAfterFinished has passed.",
    "Recreate it with a later shutdownTime.",
  ),
  Starting: transient("Nothing is wrong so far; it is on its way.", "Wait."),
  NotReady: transient(
    "It is not Ready and nothing that could be read says why.",
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
    "The template's NetworkPolicy is missing or not up to date, and no sandbox of the template starts without it.",
    "Fix what the evidence names: a quota, an admission policy, rights, rules that are too large. If you restrict the " +
      "Pods' network yourself, set spec.networkPolicyManagement of the template to Unmanaged.",
  ),
  InvalidMetadata: final(
    "The claim asks for labels or annotations that it may not set.",
    "Change spec.additionalPodMetadata of a new claim.",
  ),
  EnvVarsInjectionRejected: final(
    "The claim sets variables that its template does not let it set.",
    "Leave out spec.env of the claim, or set spec.envVarsInjectionPolicy of the template.",
  ),
  VolumeClaimTemplatesError: final(
    "The claim brings volumes that its template does not let it bring.",
    "Leave out spec.volumeClaimTemplates of the claim, or set spec.volumeClaimTemplatesPolicy of the template.",
  ),
  ClaimRejected: final("The claim asks for what its template cannot give.", "Change the claim as the evidence says."),
  SandboxNameTaken: final(
    "The claim needs a new Sandbox with the claim's name, but that name is taken.",
    "Create the claim under another name, or delete that Sandbox.",
  ),
  SandboxLost: transient(
    "The claim's Sandbox was deleted; the binder gives it another one.",
    "Wait for the next one; find out who deletes Sandboxes of claims.",
  ),
  BinderDown: transient(
    "No process holds the Lease hookbox-binder, so the binder is not running and claims get no Sandboxes.",
    "Run hookbox keeper, which includes a binder unless it has --no-binder, or hookbox binder. If one of them runs, read its log.",
  ),
  // Refusals by the API server.
  QuotaExceeded: final(
    "A ResourceQuota leaves no room.",
    "Raise spec.hard of the ResourceQuota, or delete what uses it up.",
  ),
  QuotaNeedsResources: final(
    "A ResourceQuota wants requests or limits that the Pod does not state.",
    "State the requests and limits that it names in the containers' resources.",
  ),
  LimitRangeViolation: final(
    "A LimitRange forbids the containers' requests or limits.",
    "Change the containers' resources, or the LimitRange: kubectl describe limitrange.",
  ),
  PodSecurityViolation: final(
    "The namespace's Pod Security level forbids the Pod.",
    "Set the securityContext fields that the evidence names, or lower the namespace's label pod-security.kubernetes.io/enforce.",
  ),
  AdmissionPolicyDenied: final(
    "A ValidatingAdmissionPolicy forbids it.",
    "Change the spec as the policy's message says, or the policy.",
  ),
  AdmissionWebhookDenied: final("An admission webhook forbids it.", "Change the spec as the webhook's message says."),
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
    "Install the roles of this version: hookbox install --apply, or deploy/metacontroller for Metacontroller's.",
  ),
  InvalidConfiguration: final(
    "The API server rejected an object made from this spec as invalid.",
    "Change the field that the evidence names.",
  ),
  ChildRefused: final(
    "The API server rejected an object that the Sandbox needs.",
    "Fix what the API server's message in the evidence names.",
  ),
  NameTaken: final(
    "A Pod, Service or PersistentVolumeClaim of the Sandbox's name belongs to somebody else.",
    "Delete that object, label it agents.x-k8s.io/adoptable=true, or use another name.",
  ),
  PodLost: transient(
    "Something deletes the Pod again and again, and hookbox waits longer each time before it creates the next one.",
    "Find out what deletes it, for example in the API server's audit log: a descheduler, a policy, a script.",
  ),
  MultiplePods: final(
    "More than one Pod belongs to the Sandbox; it needs exactly one.",
    "Delete all but one of them: kubectl delete pod.",
  ),
  // hookbox itself.
  HookFailing: transient(
    "Metacontroller cannot reach the hook, or the hook returns an error.",
    "Look at the hook's log, and see that its Deployment runs.",
  ),
  ControllerSilent: transient(
    "The object has not been reconciled yet, or not since its spec changed.",
    "See that Metacontroller and the hooks run, and look in the hooks' logs for refused answers (429).",
  ),
} as const satisfies Record<string, Entry>;
