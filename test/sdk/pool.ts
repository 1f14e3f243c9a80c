/** The pool that tests take sandboxes from. @module */

/** A template, and a pool of two by the name of `python`. */
export const POOL = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: python }
spec: { podTemplate: { spec: { containers: [{ name: main, image: python }] } } }
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: python }
spec: { replicas: 2, sandboxTemplateRef: { name: python } }
`;
