/** Faults that keep a Pod from a node: gates, labels, taints, size, volumes. @module */
import { aVolume, container, type Fault, podFault } from "./fault.ts";

export const SCHEDULING_FAULTS: Fault[] = [
  podFault("gated", "SchedulingGated", "Pod/gated", { schedulingGates: [{ name: "example.com/wait" }] }),
  podFault("tainted", "UntoleratedTaint", "Pod/tainted", { nodeSelector: { type: "kwok" } }, {
    needs: "both kinds of node",
  }),
  podFault("labelled", "NodeSelectorMismatch", "Pod/labelled", { nodeSelector: { disk: "ssd" } }),
  podFault("huge", "InsufficientResources", "Pod/huge", container({ resources: { requests: { cpu: "4000" } } })),
  podFault("unscheduled", "SchedulerSilent", "Pod/unscheduled", { schedulerName: "nobody" }),
  podFault("no-class", "StorageClassNotFound", "StorageClass/gone", {}, {
    spec: { volumeClaimTemplates: [aVolume("data", "gone")] },
  }),
  podFault("no-volume", "VolumePending", "PersistentVolumeClaim/data-no-volume", {}, {
    spec: { volumeClaimTemplates: [aVolume("data", "")] },
  }),
  podFault("no-claim", "VolumeClaimNotFound", "PersistentVolumeClaim/absent", {
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "absent" } }],
  }),
];
