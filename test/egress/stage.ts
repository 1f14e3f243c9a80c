/** A namespace with a template, a claim, its Sandbox and its Pod, as the API server has them. @module */
import { EGRESS_ALLOW_ANNOTATION, EGRESS_HEADERS_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { FakeApi } from "../kube/fakeapi.ts";

const NAMESPACE = "/namespaces/team-a";
export const PODS = `/api/v1${NAMESPACE}/pods`;
export const SECRETS = `/api/v1${NAMESPACE}/secrets`;
export const SANDBOXES = `/apis/agents.x-k8s.io/v1beta1${NAMESPACE}/sandboxes`;
export const CLAIMS = `/apis/extensions.agents.x-k8s.io/v1beta1${NAMESPACE}/sandboxclaims`;
const TEMPLATES = `/apis/extensions.agents.x-k8s.io/v1beta1${NAMESPACE}/sandboxtemplates`;

/** The two annotations. */
export interface Texts {
  allow?: string;
  headers?: string;
}

function annotationsOf({ allow, headers }: Texts): Record<string, string> {
  return {
    ...allow === undefined ? {} : { [EGRESS_ALLOW_ANNOTATION]: allow },
    ...headers === undefined ? {} : { [EGRESS_HEADERS_ANNOTATION]: headers },
  };
}

function put(api: FakeApi, path: string, kind: string, metadata: object, more: object = {}): void {
  const name = path.slice(path.lastIndexOf("/") + 1);
  api.put(path, { apiVersion: "v1", kind, metadata: { name, namespace: "team-a", ...metadata }, ...more });
}

export function putTemplate(api: FakeApi, texts: Texts, name = "web"): void {
  put(api, `${TEMPLATES}/${name}`, "SandboxTemplate", { uid: `template-${name}`, annotations: annotationsOf(texts) });
}

export function putClaim(api: FakeApi, texts: Texts, uid = "claim-1"): void {
  put(api, `${CLAIMS}/session`, "SandboxClaim", { uid, annotations: annotationsOf(texts) });
}

/** @param claim UID of the claim that has it; undefined: it is a pool's */
export function putSandbox(api: FakeApi, claim?: string, uid = "sandbox-1", texts?: Texts): void {
  const owner = claim === undefined
    ? { kind: "SandboxWarmPool", name: "pool", uid: "pool-1" }
    : { kind: "SandboxClaim", name: "session", uid: claim };
  const annotations = texts ? annotationsOf(texts) : { "agents.x-k8s.io/sandbox-template-ref": "web" };
  const ownerReferences = [{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", controller: true, ...owner }];
  put(api, `${SANDBOXES}/box`, "Sandbox", { uid, annotations, ownerReferences });
}

/** @param status for example `{ podIP }` */
export function putPod(
  api: FakeApi,
  status: object,
  { name = "box", uid = "pod-1", ...meta }: { name?: string; uid?: string; deletionTimestamp?: string } = {},
) {
  const owner = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name: "box",
    uid: "sandbox-1",
    controller: true,
  };
  put(api, `${PODS}/${name}`, "Pod", { uid, ownerReferences: [owner], ...meta }, {
    status: { phase: "Running", ...status },
  });
}

export function putSecret(api: FakeApi, name: string, key: string, value: string): void {
  put(api, `${SECRETS}/${name}`, "Secret", {}, { data: { [key]: btoa(value) } });
}
