/** Objects of two versions for the tests of conversions, and the way from one to the other. @module */
import { convertObject } from "../../packages/api/v1alpha1/convert.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";

const CORE = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";
export const POD = { spec: { containers: [{ name: "main", image: "busybox" }] } };
export const CLAIM_STATE = "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state";

export function anObject(version: string, kind: string, spec: object, over: object = {}): KubeObject {
  const group = kind === "Sandbox" ? CORE : EXTENSIONS;
  return { apiVersion: `${group}/${version}`, kind, metadata: { name: "it", namespace: "team-a" }, spec, ...over };
}
export const alpha = (kind: string, spec: object, over: object = {}) => anObject("v1alpha1", kind, spec, over);
export const beta = (kind: string, spec: object, over: object = {}) => anObject("v1beta1", kind, spec, over);
export const toBeta = (object: KubeObject) => convertObject(object, "v1beta1");
export const toAlpha = (object: KubeObject) => convertObject(object, "v1alpha1");
export const specOf = (object: KubeObject) => object["spec"];
