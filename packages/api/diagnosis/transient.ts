/** Recognises messages of a kubelet that is busy and retries by itself. @module */

/** Source: k8s.io/kubernetes pkg/kubelet/util/manager, 1.36. */
const TRANSIENT = /failed to sync (?:secret|configmap) cache/;

/** Tells whether the problem in a kubelet's message passes without help, whatever its reason is. */
export function isTransient(message: string): boolean {
  return TRANSIENT.test(message);
}
