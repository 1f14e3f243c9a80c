/** Traffic of the real hooks on a cluster in memory, with each request and answer of theirs. @module */
import type { Exchange } from "../../../packages/webhook/exchange.ts";
import type { HookCalls } from "../../../packages/webhook/hook.ts";
import { createTestCluster, type TestCluster } from "../../../packages/testing/mod.ts";
import { hookNames, makeHooks } from "../../../hooks/all.ts";
import { SETTINGS } from "./recorded.ts";

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
const SANDBOX = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: bare }
spec:
  service: true
  podTemplate: { spec: { containers: [{ name: main, image: python, ports: [{ containerPort: 80 }] }] } }
  volumeClaimTemplates:
  - metadata: { name: data }
    spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
`;

const aTemplate = (image: string) => ({
  apiVersion: EXTENSIONS,
  kind: "SandboxTemplate",
  metadata: { name: "python" },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image }] } }, envVarsInjectionPolicy: "Allowed" },
});
const aPool = (replicas: number) => ({
  apiVersion: EXTENSIONS,
  kind: "SandboxWarmPool",
  metadata: { name: "warm" },
  spec: { replicas, sandboxTemplateRef: { name: "python" }, updateStrategy: { type: "Recreate" } },
});
const aClaim = (name: string, spec: object = {}) => ({
  apiVersion: EXTENSIONS,
  kind: "SandboxClaim",
  metadata: { name },
  spec: { warmPoolRef: { name: "warm" }, ...spec },
});

type Act = (cluster: TestCluster) => Promise<unknown>;
const ACTS: Act[] = [
  (cluster) => cluster.apply(aTemplate("python:1"), aPool(3), SANDBOX),
  (cluster) => cluster.apply(aClaim("a"), aClaim("b")),
  (cluster) => cluster.apply(aClaim("c", { env: [{ name: "A", value: "1" }] })),
  (cluster) => cluster.patch("Sandbox", "bare", { spec: { operatingMode: "Suspended" } }),
  (cluster) => cluster.apply(aTemplate("python:2")),
  (cluster) => cluster.patch("Sandbox", "bare", { spec: { operatingMode: "Running" } }),
  (cluster) => cluster.delete("SandboxClaim", "a"),
  (cluster) => cluster.apply(aPool(5)),
  (cluster) => cluster.apply(aClaim("d"), aClaim("e"), aClaim("f"), aClaim("g"), aClaim("h"), aClaim("i")),
  (cluster) => cluster.patch("Sandbox", "bare", { spec: { shutdownTime: "2026-01-01T00:00:10Z" } }),
  (cluster) => cluster.apply(aPool(1)),
  (cluster) => cluster.delete("Sandbox", cluster.get("SandboxClaim", "d")?.status.sandbox.name),
  (cluster) => cluster.delete("SandboxClaim", "b"),
];

/** Plays some minutes of users' doings; each exchange is given to `record`. */
export async function playTraffic(record: (exchange: Exchange) => void): Promise<void> {
  const hooks = Object.fromEntries(hookNames.map((name) => [name, () => recorded(name, () => cluster, record)]));
  const cluster: TestCluster = await createTestCluster({ hooks, pods: { startMs: 50, readyMs: 20 } });
  for (const act of ACTS) {
    await act(cluster);
    await cluster.clock.advance(900);
    await cluster.settle();
  }
  await cluster.clock.advance(60_000);
  await cluster.stop();
}

/** A hook as its server asks and records it. */
function recorded(name: string, cluster: () => TestCluster, record: (exchange: Exchange) => void): HookCalls {
  const [hook] = makeHooks([name], SETTINGS);
  if (!hook) throw new RangeError(`Cannot record hook "${name}": there is none`);
  const { sync, customize } = hook;
  const noted = (endpoint: Exchange["endpoint"], at: Date, request: unknown, answer: object) => {
    record({ at, hook: name, endpoint, status: 200, request: bytesOf(request), answer: bytesOf(answer) });
  };
  return {
    name,
    sync(body, now, share) {
      const outcome = sync(body, now, share);
      if ("answer" in outcome) noted("sync", now, body, outcome.answer);
      return outcome;
    },
    ...(customize && {
      customize(body: unknown) {
        const answer = customize(body);
        noted("customize", new Date(cluster().clock.now()), body, answer);
        return answer;
      },
    }),
  };
}

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
