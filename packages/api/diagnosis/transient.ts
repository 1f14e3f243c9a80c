/** Words of a kubelet that has much to do, and tries again by itself. Pure. @module */

/** Source: k8s.io/kubernetes pkg/kubelet/util/manager, 1.36. */
const TRANSIENT = /failed to sync (?:secret|configmap) cache/;

/** Tells whether what a kubelet complains of passes by itself, however it is called. */
export function isTransient(message: string): boolean {
  return TRANSIENT.test(message);
}
