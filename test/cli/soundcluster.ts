/** A cluster on which `hookbox doctor` finds nothing wrong, as answers that a test changes. @module */
import { parse } from "yaml";
import { readCRDs } from "../../packages/manifests/render.ts";
import { fakeApi, listOf, NOW, run } from "./fakecontext.ts";

/** What is answered, by request: see fakeApi(). */
export type Answers = Record<string, unknown>;
export const METACONTROLLER = "/apis/metacontroller.k8s.io/v1alpha1";
const hook = (url: string) => ({ metadata: { name: "h" }, spec: { hooks: { sync: { webhook: { url } } } } });
export const engine = (...args: string[]) => ({
  metadata: { name: "metacontroller-0" },
  spec: { containers: [{ image: "metacontroller:v4.17.2", args }] },
  status: { phase: "Running" },
});

export const KEEPER = "GET /apis/coordination.k8s.io/v1/leases?metadata.name=hookbox-keeper";
export const BINDER = "GET /apis/coordination.k8s.io/v1/leases?metadata.name=hookbox-binder";
/** A list of one Lease, renewed so many seconds ago. */
export const aLease = (name: string, spec: object, seconds: number) => {
  const renewTime = new Date(NOW.getTime() - seconds * 1000).toISOString();
  return listOf("v1", "Lease", { metadata: { name, namespace: "hookbox-system" }, spec: { ...spec, renewTime } });
};

/** What a cluster answers that lacks nothing. */
export function sound(): Answers {
  const crds = readCRDs().map((text) => parse(text) as { metadata: { name: string } });
  return {
    "GET /version": { gitVersion: "v1.36.3", minor: "36" },
    ...Object.fromEntries(crds.map((crd) => [
      `GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`,
      { ...crd, status: {} },
    ])),
    "GET /api/v1/pods": listOf("v1", "Pod", engine("--client-go-qps=1000", "--workers=20")),
    [`GET ${METACONTROLLER}/compositecontrollers/sandbox`]: hook("http://hooks.test:8080/sandbox/sync"),
    [`GET ${METACONTROLLER}/compositecontrollers/sandboxwarmpool`]: hook("http://hooks.test.svc/x/sync"),
    [`GET ${METACONTROLLER}/decoratorcontrollers/sandboxclaim`]: hook("http://10.0.0.1:8080/x/sync"),
    [`GET ${METACONTROLLER}/decoratorcontrollers/sandboxtemplate`]: hook("http://hooks.test:8080/x/sync"),
    "GET /api/v1/namespaces/test/services/hooks:8080/proxy/healthz": { status: 200, body: "ok" },
    "GET /api/v1/namespaces/test/services/hooks:80/proxy/healthz": { status: 200, body: "ok" },
    // Nothing of it runs in Deployments.
    "GET /apis/apps/v1/deployments": listOf("apps/v1", "Deployment"),
    [KEEPER]: aLease("hookbox-keeper", { holderIdentity: "k1", leaseDurationSeconds: 15 }, 2),
    [BINDER]: aLease("hookbox-binder", { holderIdentity: "b1", leaseDurationSeconds: 5 }, 1),
    "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": { status: 201, body: { status: { allowed: true } } },
    "GET /apis/node.k8s.io/v1/runtimeclasses": listOf("v1", "RuntimeClass", { metadata: { name: "gvisor" } }),
    "GET /apis/storage.k8s.io/v1/storageclasses": listOf("v1", "StorageClass", {
      metadata: { name: "fast", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    }),
  };
}

/** Everybody is well. */
export const fetch = () => Promise.resolve(new Response("ok"));
/** Runs `hookbox doctor`. */
export const examine = (answers: Answers, line = "doctor --router http://r") =>
  run(line, { api: fakeApi(answers), fetch });
