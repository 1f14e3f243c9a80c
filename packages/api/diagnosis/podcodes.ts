/** The diagnosis codes about an existing Pod: its scheduling, its volumes, its images and its containers. @module */
import { type Entry, final, transient } from "./entry.ts";

export const POD_CODES = {
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
} as const satisfies Record<string, Entry>;
