/** A server of E2B's API on a cluster in memory, with a project, its keys and a pool. @module */
import { Buffer } from "node:buffer";
import { onTestFinished } from "vitest";
import { apiKeyOf } from "../../packages/api/e2b/identity.ts";
import { ALIASES_ANNOTATION, type Right, RIGHTS } from "../../packages/api/e2b/objects.ts";
import { createApp } from "../../packages/e2b/app.ts";
import { createFollowing } from "../../packages/e2b/following.ts";
import { createInside } from "../../packages/e2b/inside.ts";
import { createKeys } from "../../packages/e2b/keys.ts";
import { keepPauses, type Watched } from "../../packages/e2b/pauses.ts";
import { createE2BMetrics } from "../../packages/e2b/metrics.ts";
import { createSandboxes, type E2BSandboxes } from "../../packages/e2b/sandboxes.ts";
import { createTemplates } from "../../packages/e2b/templates.ts";
import { type Answer, type Api, type ApiRequest, timeAt } from "../../packages/kube/api.ts";
import { createRegistry } from "../../packages/process/observability.ts";
import { serve } from "../../packages/process/serve.ts";
import { createTestCluster, type TestCluster, type TestClusterOptions } from "../../packages/testing/mod.ts";
import { underRole } from "../rights.ts";
import { eventually } from "../eventually.ts";
import { keysSecret } from "./keyssecret.ts";

/** The secret of the server. */
export const SECRET = Buffer.from("0123456789abcdef0123456789abcdef");

/** Returns an API key of a namespace, always the same for the same name. */
export function aKey(namespace: string, name = "main"): string {
  return apiKeyOf(namespace, Buffer.alloc(24, name));
}

/** Stores API keys in a namespace; all have all rights unless `rights` says other. */
export async function putKeys(
  { api }: Pick<TestCluster, "api">,
  namespace: string,
  rights: Record<string, readonly Right[]> = { main: RIGHTS },
): Promise<void> {
  const keys = Object.entries(rights).map((
    [name, allowed],
  ) => [name, { apiKey: aKey(namespace, name), rights: allowed }]);
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const body = keysSecret(namespace, Object.fromEntries(keys));
  await api.send({ method: "POST", path, body });
}

/** If a creation takes long, its diagnosis also asks for these. The role has no right to them; the diagnosis goes on. */
const UNREAD = /\/(nodes|leases|storageclasses|networkpolicies)\b/;
const REFUSED: Answer = { status: 403, body: { kind: "Status", reason: "Forbidden", code: 403, message: "forbidden" } };

/** Starts a cluster with projects `team-a` and `team-b`, each with a pool, and the server of E2B's API. */
export async function startE2B({ pauses = true, ...options }: TestClusterOptions & { pauses?: boolean } = {}) {
  const namespaces: [string, ...string[]] = ["team-a", "team-b"];
  const cluster = await createTestCluster({ time: "auto", autoLimitMs: 5000, namespaces, ...options });
  onTestFinished(() => cluster.stop());
  const held = underRole(cluster.api, "e2b");
  const send = async (request: ApiRequest) => UNREAD.test(request.path) ? REFUSED : await held.send(request);
  const requests: string[] = [];
  const api = recorded({ ...held, send }, requests);
  for (const namespace of namespaces) {
    await putKeys(cluster, namespace);
    await cluster.apply(templateYAML(namespace));
  }
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const log = () => {};
  const keys = createKeys(api, log, () => timeAt(api));
  const templates = createTemplates(api);
  const secrets = () => [SECRET];
  const following = createFollowing<Watched>();
  const sandboxes = createSandboxes(api, templates, secrets, following);
  const watched = { log, signal: ending.signal };
  void keys.watch(watched);
  void templates.watch(watched);
  if (pauses) void keepPauses(api, watched, following, cluster.clock);
  await eventually(() => keys.hasSynced() && templates.hasSynced()).toBe(true);
  const inside = createInside(api, secrets, "http://127.0.0.1:9");
  const metrics = createE2BMetrics(createRegistry(false));
  const parts = { keys, templates, sandboxes, inside, metrics, secrets, log };
  const app = createApp({ ...parts, domain: undefined, prefix: "" });
  const server = await serve(app, { port: 0, host: "127.0.0.1", log });
  onTestFinished(() => server.stop());
  const apiUrl = `http://127.0.0.1:${server.port}`;
  return { cluster, api, app, requests, apiUrl, metrics, options: { apiUrl, apiKey: aKey("team-a"), retries: 0 } };
}

/** The sandboxes as a server knows them that sees the cluster by this API, and follows no watch. */
export function sandboxesOver(api: Api): E2BSandboxes {
  return createSandboxes(api, createTemplates(api), () => [SECRET], createFollowing());
}

/** Records the method and path of each request, and those of watches. */
function recorded<A extends Api>(api: A, requests: string[]): A {
  return {
    ...api,
    send(request) {
      requests.push(`${request.method} ${request.path}`);
      return api.send(request);
    },
    watch(path, ...rest) {
      requests.push(`WATCH ${path}`);
      return api.watch(path, ...rest);
    },
  };
}

function templateYAML(namespace: string): string {
  return `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata:
  name: stateless
  namespace: ${namespace}
  annotations: { agents.x-k8s.io/egress-allow: "pypi.org, *.example.com, 10.1.0.0/16" }
spec: { podTemplate: { spec: { containers: [{ name: main, image: hookbox-agent }] } } }
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: python, namespace: ${namespace} }
spec:
  volumeClaimTemplates:
    - { metadata: { name: home }, spec: { resources: { requests: { storage: 2Gi } } } }
  envVarsInjectionPolicy: Allowed
  podTemplate:
    spec:
      containers:
        - name: main
          image: hookbox-agent
          resources: { limits: { cpu: 1500m, memory: 1Gi } }
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata:
  name: python
  namespace: ${namespace}
  annotations: { ${ALIASES_ANNOTATION}: "base, code-interpreter-v1" }
spec: { replicas: 2, sandboxTemplateRef: { name: python } }
`;
}
