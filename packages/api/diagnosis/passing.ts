/** Words of a kubelet that has much to do, and tries again by itself. Pure. @module */

/** Source: k8s.io/kubernetes pkg/kubelet/util/manager, 1.36. */
const PASSING = /failed to sync (?:secret|configmap) cache/;

/** Tells whether what a kubelet complains of passes by itself, however it is called. */
export function isPassing(message: string): boolean {
  return PASSING.test(message);
}
