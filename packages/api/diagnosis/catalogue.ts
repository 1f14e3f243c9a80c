/** The catalogue of all diagnosis codes, each with its meaning and a remedy. docs/why.md shows it. @module */

/** What a code means, independently of the object. */
interface CodeEntry {
  meaning: string;
  /** The remedy that applies if a rule has no better one. */
  remedy: string;
  /** Waiting does not help. A rule may override this. */
  hopeless: boolean;
}

/** Creates an entry for a problem that a person must fix. */
function final(meaning: string, remedy: string): CodeEntry {
  return { meaning, remedy, hopeless: true };
}

/** Creates an entry for a problem that may pass without help. */
function transient(meaning: string, remedy: string): CodeEntry {
  return { meaning, remedy, hopeless: false };
}

/** The code of a finding. `CATALOGUE` explains each code. */
export type Code = keyof typeof OBJECT_CODES | keyof typeof POD_CODES;

const OBJECT_CODES = {
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
  PodsForbidden: transient(
    "You may not read the Pod, and nothing else shows why the object is not Ready.",
    "Ask for the right to get Pods in the namespace; ClusterRole hookbox-view has this right.",
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
    "The claim sets environment variables, files or a start command that its template does not allow.",
    "Remove what the evidence names from the claim, or change spec.envVarsInjectionPolicy of the template.",
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
  EgressRulesInvalid: final(
    "The sandbox runs, but the rules of its egress proxy have a fault, so that it does not reach some or all hosts.",
    "Correct the annotation that the evidence names.",
  ),
  EgressProxyNotReady: transient(
    "There are rules for the egress proxy, but the proxy of the namespace does not exist or is not Ready.",
    "Install deploy/egress in the namespace, or find out why its Pods are not Ready: hookbox doctor.",
  ),
  EgressAddressMissing: final(
    "The Pod does not have the address of the egress proxy.",
    "Delete the Pod, or the claim, so that a new Pod gets the address.",
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
} as const satisfies Record<string, CodeEntry>;

const POD_CODES = {
  // Scheduling.
  SchedulingGated: transient(
    "A scheduling gate keeps the Pod from being scheduled.",
    "Find the controller that should remove the gate, or remove it from schedulingGates in the Pod's spec.",
  ),
  NoNodes: transient("The cluster has no nodes.", "Add a node."),
  InsufficientResources: transient(
    "No node has enough free CPU, memory or other resources.",
    "Lower the containers' resources.requests, or add nodes.",
  ),
  UntoleratedTaint: transient(
    "All nodes that could run the Pod have a taint that the Pod does not tolerate.",
    "Add tolerations to the Pod's spec, or remove the taints: kubectl taint node.",
  ),
  NodeSelectorMismatch: transient(
    "No node has the labels that nodeSelector or node affinity asks for.",
    "Change nodeSelector or affinity in the Pod's spec, or label a node: kubectl label node.",
  ),
  PodAffinityUnsatisfied: transient(
    "Pod affinity, anti-affinity or topology spread constraints exclude every node.",
    "Change affinity or topologySpreadConstraints in the Pod's spec.",
  ),
  VolumeNodeConflict: final(
    "A volume of the Pod is bound to a node or zone where the Pod cannot run.",
    "Let the Pod run where its volume is, or use volumeBindingMode WaitForFirstConsumer.",
  ),
  Unschedulable: transient("The scheduler finds no node for the Pod.", "Do as the scheduler's message says."),
  SchedulerSilent: transient(
    "No scheduler has tried to schedule the Pod.",
    "Check that the scheduler runs, and that schedulerName in the Pod's spec is its name.",
  ),
  NodeNotReady: transient("The Pod's node is not Ready.", "Fix the node: kubectl describe node."),
  // Volumes, and other objects to which the Pod refers.
  StorageClassNotFound: final(
    "A volume names a StorageClass that does not exist.",
    "Create the StorageClass, or name another one in volumeClaimTemplates of a new Sandbox.",
  ),
  NoDefaultStorageClass: final(
    "A volume names no StorageClass, and none is the default.",
    "Annotate one StorageClass with storageclass.kubernetes.io/is-default-class=true.",
  ),
  VolumeProvisioningFailed: transient(
    "The storage system could not create a volume.",
    "Do as the provisioner's message says.",
  ),
  VolumePending: transient(
    "A volume has not been bound.",
    "Create a PersistentVolume that fits, or name a StorageClass that makes them.",
  ),
  VolumeClaimNotFound: final(
    "The Pod names a PersistentVolumeClaim that does not exist.",
    "Create the PersistentVolumeClaim, or change volumes in the Pod's spec.",
  ),
  VolumeMountFailed: transient("A volume cannot be mounted.", "Do as the kubelet's message says."),
  SecretNotFound: final("The Pod needs a Secret that does not exist.", "Create the Secret."),
  ConfigMapNotFound: final("The Pod needs a ConfigMap that does not exist.", "Create the ConfigMap."),
  KeyNotFound: final(
    "A Secret or ConfigMap lacks a key that the Pod needs.",
    "Add the key, or mark it optional in the Pod's spec.",
  ),
  // Images and containers.
  InvalidImageName: final("The image name is invalid.", "Correct image in the Pod's spec."),
  ImageNotFound: final("The registry does not have the image.", "Correct image in the Pod's spec, or push the image."),
  ImageUnauthorized: final(
    "The registry denied access to the image: credentials are missing or invalid, or there is no such image.",
    "Name valid credentials in imagePullSecrets of the Pod's spec, and check the image's name.",
  ),
  ImageNotPresent: final(
    "The node does not have the image, and imagePullPolicy is Never.",
    "Load the image on the node, or change imagePullPolicy in the Pod's spec.",
  ),
  ImagePullFailed: transient(
    "The image cannot be pulled: the registry fails, or the node cannot reach it.",
    "See that nodes reach the registry, and check the image's name.",
  ),
  RunAsNonRoot: final(
    "The container must not run as root, but its image does.",
    "Set securityContext.runAsUser in the Pod's spec, or use an image with a numeric user.",
  ),
  ContainerConfigInvalid: final(
    "The kubelet cannot create the container from its spec.",
    "Change the container's spec as the kubelet's message says.",
  ),
  ContainerStartFailed: final(
    "The container's command cannot be started.",
    "Correct command, args or workingDir of the container.",
  ),
  PodSandboxFailed: transient(
    "The node cannot set up the Pod: the network plugin or the container runtime fails.",
    "Look at the node's network plugin and container runtime.",
  ),
  PodNameTooLong: final(
    "The node cannot create a folder for the Pod's logs, because the Pod's name is too long.",
    "Use a shorter name: namespace and name may have 217 characters together.",
  ),
  OutOfMemory: final(
    "The container was killed: it used more memory than its limit.",
    "Raise resources.limits.memory of the container.",
  ),
  CrashLoop: final(
    "The container keeps exiting (CrashLoopBackOff).",
    "Read the logs of its last run: kubectl logs --previous.",
  ),
  ProbeFailing: transient(
    "A container runs, but its probe fails.",
    "Fix what the probe checks, or change the probe in the Pod's spec.",
  ),
  ReadinessGateWaiting: transient(
    "The Pod has a readiness gate whose condition is not True.",
    "Find the controller that sets that condition on the Pod.",
  ),
  PodFailed: final(
    "The Pod has failed and does not start again.",
    "Look at its logs. For a new Pod, suspend and resume the Sandbox.",
  ),
  PodSucceeded: final(
    "The Pod has finished its work.",
    "Nothing is wrong. For a new Pod, suspend and resume the Sandbox.",
  ),
  PodTerminating: transient(
    "The old Pod is still terminating. hookbox creates the next Pod after that.",
    "Wait. If the Pod does not end, look at its finalizers and at its node.",
  ),
  PodEvicted: final(
    "The node evicted the Pod.",
    "For a new Pod, suspend and resume the Sandbox. Set resource requests that fit the Pod's use.",
  ),
} as const satisfies Record<string, CodeEntry>;

export const CATALOGUE: Readonly<Record<Code, CodeEntry>> = { ...OBJECT_CODES, ...POD_CODES };
