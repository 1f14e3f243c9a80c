/** Objects for tests of the dashboard: a template, a pool with two members, and a claim with its Sandbox and Pod. @module */
import type { FakeApi } from "../kube/fakeapi.ts";

/** Paths of namespace `team-a`. */
export const AGENTS = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a";
export const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a";
const GROUP = "extensions.agents.x-k8s.io/v1beta1";

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString().replace(/\.\d+Z$/, "Z");
const isTrue = (type: string, reason: string, minutes: number) => ({
  type,
  status: "True",
  reason,
  message: "",
  lastTransitionTime: ago(minutes),
});
const owner = (kind: string, name: string, uid = "") => ({ apiVersion: GROUP, kind, name, uid, controller: true });

/** Puts the objects into an API server. @param podIP address of the claim's Pod */
export function fill(api: FakeApi, podIP = "10.0.0.7"): void {
  const meta = (name: string, minutes: number, more = {}) => ({
    name,
    namespace: "team-a",
    creationTimestamp: ago(minutes),
    generation: 1,
    managedFields: [{ manager: "kubectl", operation: "Apply" }],
    ...more,
  });
  const container = {
    name: "main",
    image: "tool:1",
    resources: { requests: { cpu: "500m", memory: "128Mi" } },
    ports: [{ containerPort: 3000, name: "web" }],
  };
  const podTemplate = { spec: { containers: [container] } };
  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];
  api.put("/api/v1/namespaces/team-a", { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } });
  api.put(`${EXTENSIONS}/sandboxtemplates/py`, {
    apiVersion: GROUP,
    kind: "SandboxTemplate",
    metadata: meta("py", 90),
    spec: { podTemplate, volumeClaimTemplates, envVarsInjectionPolicy: "Allowed" },
  });
  const pool = api.put(`${EXTENSIONS}/sandboxwarmpools/python`, {
    apiVersion: GROUP,
    kind: "SandboxWarmPool",
    metadata: meta("python", 80),
    spec: { replicas: 2, sandboxTemplateRef: { name: "py" } },
    status: {
      observedGeneration: 1,
      replicas: 2,
      readyReplicas: 2,
      conditions: [isTrue("Ready", "Full", 70), isTrue("Progressing", "Full", 70)],
    },
  });
  const claim = api.put(`${EXTENSIONS}/sandboxclaims/session`, {
    apiVersion: GROUP,
    kind: "SandboxClaim",
    metadata: meta("session", 10, { labels: { team: "blue" } }),
    spec: { warmPoolRef: { name: "python" } },
    status: {
      conditions: [{ ...isTrue("Ready", "DependenciesReady", 9), observedGeneration: 1 }],
      sandbox: { name: "python-1", podIPs: [podIP] },
    },
  });
  for (const [index, minutes] of [[1, 60], [2, 50], [3, 40]] as const) {
    const name = `python-${index}`;
    const ip = index === 1 ? podIP : `10.0.1.${index}`;
    const by = index === 1
      ? owner("SandboxClaim", "session", claim.metadata.uid)
      : owner("SandboxWarmPool", "python", pool.metadata.uid);
    const sandbox = api.put(`${AGENTS}/sandboxes/${name}`, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: meta(name, minutes, {
        ownerReferences: [by],
        annotations: { "agents.x-k8s.io/sandbox-template-ref": "py" },
      }),
      spec: { operatingMode: "Running", shutdownPolicy: "Retain", podTemplate, volumeClaimTemplates },
      status: {
        observedGeneration: 1,
        podIPs: [ip],
        nodeName: "node-1",
        conditions: [
          { ...isTrue("Ready", "DependenciesReady", minutes - 1), observedGeneration: 1 },
          { ...isTrue("Suspended", "NotSuspended", minutes - 1), status: "False", observedGeneration: 1 },
        ],
      },
    });
    api.put(`/api/v1/namespaces/team-a/pods/${name}`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta(name, minutes, {
        managedFields: undefined,
        ownerReferences: [{
          apiVersion: "agents.x-k8s.io/v1beta1",
          kind: "Sandbox",
          name,
          uid: sandbox.metadata.uid,
          controller: true,
        }],
      }),
      spec: { nodeName: "node-1", containers: [container] },
      status: {
        phase: "Running",
        podIPs: [{ ip }],
        conditions: [isTrue("PodScheduled", "", minutes), isTrue("Ready", "", minutes - 1)],
        containerStatuses: [{
          name: "main",
          ready: true,
          restartCount: 1,
          state: { running: { startedAt: ago(minutes - 1) } },
          lastState: { terminated: { exitCode: 3, reason: "Error", finishedAt: ago(minutes - 1) } },
        }],
      },
    });
  }
}
