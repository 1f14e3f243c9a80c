/** A claim whose Sandbox the API server does not let Metacontroller change. @module */
import type { FakeApi } from "../kube/fakeapi.ts";
import { aClaim, aCondition, CLAIM } from "../keeper/extensions.ts";
import { SANDBOX } from "../keeper/keeping.ts";
import { aSandbox } from "../sandboxes.ts";

/**
 * Puts a claim that wants a label of a domain, its Sandbox, and the Event that the API server refuses to change the Sandbox.
 * Returns what reads the keeper's report.
 */
export function putRefused(api: FakeApi, domain: string): () => string | undefined {
  const name = `of-${domain}`;
  const spec = { additionalPodMetadata: { labels: { [`${domain}.example/x`]: "y" } } };
  const claim = aClaim({ metadata: { name, uid: `uid-${name}` }, spec, status: { sandbox: { name } } });
  const { apiVersion, kind, metadata: { uid = "" } } = claim;
  const sandbox = aSandbox({
    metadata: {
      ...{ name, uid: `uid-box-${domain}`, ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] },
      annotations: { "metacontroller.k8s.io/decorator-controller": "sandboxclaim" },
    },
    status: { conditions: [aCondition("Ready", "True", "DependenciesReady")] },
  });
  api.put(CLAIM.replace(/job$/, name), { ...claim });
  api.put(SANDBOX.replace(/demo$/, name), { ...sandbox });
  api.put(`/api/v1/namespaces/team-a/events/${name}`, {
    metadata: { name, namespace: "team-a" },
    involvedObject: { kind, namespace: "team-a", name, uid },
    reason: "SyncError",
    message: 'admission webhook "guard.example.com" denied the request: change freeze',
    lastTimestamp: new Date().toISOString(),
  });
  return () => api.get(SANDBOX.replace(/demo$/, name))?.metadata.annotations?.["agents.x-k8s.io/refused-write"];
}
