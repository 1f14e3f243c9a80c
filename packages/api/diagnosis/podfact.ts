/** The types of those Pod fields that a diagnosis reads. @module */
import type { ObjectMeta } from "../objects/objects.ts";

export interface PodFact {
  metadata: ObjectMeta;
  spec?: PodSpecFact;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: PodConditionFact[];
    initContainerStatuses?: ContainerFact[];
    containerStatuses?: ContainerFact[];
  };
}

export interface PodConditionFact {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface PodSpecFact {
  nodeName?: string;
  restartPolicy?: string;
  schedulerName?: string;
  serviceAccountName?: string;
  runtimeClassName?: string;
  schedulingGates?: { name: string }[];
  readinessGates?: { conditionType: string }[];
  nodeSelector?: Record<string, string>;
  affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: NodeSelectorFact } };
  tolerations?: { key?: string; operator?: string; value?: string; effect?: string }[];
  containers?: {
    name: string;
    image?: string;
    resources?: { requests?: Record<string, string> };
    livenessProbe?: object;
    startupProbe?: object;
  }[];
  volumes?: {
    name: string;
    persistentVolumeClaim?: { claimName: string };
  }[];
}

export interface NodeSelectorFact {
  nodeSelectorTerms?: { matchExpressions?: { key: string; operator: string; values?: string[] }[] }[];
}

export interface ContainerFact {
  name: string;
  image?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: ContainerStateFact;
  lastState?: ContainerStateFact;
}

export interface ContainerStateFact {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { exitCode?: number; reason?: string; message?: string; finishedAt?: string };
}
