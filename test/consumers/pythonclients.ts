/** The published Python client, in each of its versions that we support, and in each way to connect. @module */
import { fileURLToPath } from "node:url";
import { CLIENT, type Packages, pythonWith } from "../clients/python.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { GATEWAY, provideGateway } from "./gateway.ts";
import { OPEN_POOL, POOL, programOf, say, type Stage } from "./stage.ts";

const OLD: Packages = {
  name: "pythonclient-0.5.6",
  label: "the published Python client 0.5.6",
  requirements: fileURLToPath(new URL("requirements-0.5.6.txt", import.meta.url)),
};

const VERSIONS = { "1.0.8": CLIENT, "0.5.6": OLD };

interface Way {
  name: string;
  /** The class of the client's configuration. */
  config: string;
  /** Its fields. */
  settings?: (stage: Stage) => object;
  prepare?: (stage: Stage) => Promise<void>;
  /** Whether the client runs in a Pod. */
  isInside?: true;
  /** The only version that has it. Absent: all versions. */
  only?: string;
  /** The only interface that has it. Absent: both. */
  interface?: "synchronous";
  note?: string;
  isQuick?: true;
}

const SANDBOXD_NOTE = "Absolute paths of files need `allow_unsafe_paths=True`.";
const POLICY_NOTE = "The `networkPolicy` of the template must allow the client's Pod.";

const WAYS: Way[] = [
  {
    name: "port-forward to the router (default)",
    config: "SandboxLocalTunnelConnectionConfig",
    interface: "synchronous",
    isQuick: true,
  },
  {
    name: "`api_url` of the router, bearer token",
    config: "SandboxDirectConnectionConfig",
    settings: ({ router, token }) => ({ api_url: router, extra_headers: { Authorization: `Bearer ${token}` } }),
    only: "1.0.8",
    isQuick: true,
  },
  {
    name: "`api_url` of the router",
    config: "SandboxDirectConnectionConfig",
    settings: ({ router }) => ({ api_url: router }),
    only: "0.5.6",
    note: "This version cannot send a token. Use port-forward, or start the router with `--authz-mode=allow-all`.",
  },
  {
    name: "Gateway",
    config: "SandboxGatewayConnectionConfig",
    settings: ({ ns }) => ({ gateway_name: GATEWAY, gateway_namespace: ns.name }),
    prepare: provideGateway,
    note: "The HTTPRoute must add the token. A small proxy plays the Gateway.",
  },
  { name: "in the cluster", config: "SandboxInClusterConnectionConfig", isInside: true, note: POLICY_NOTE },
  {
    name: "sandboxd, port-forward to the Pod",
    config: "SandboxdPodTunnelConnectionConfig",
    only: "1.0.8",
    note: SANDBOXD_NOTE,
  },
  {
    name: "sandboxd, in the cluster, Pod IP",
    config: "SandboxdInClusterConnectionConfig",
    settings: () => ({ mode: "in-cluster-pod-ip" }),
    isInside: true,
    only: "1.0.8",
    note: `${POLICY_NOTE} ${SANDBOXD_NOTE}`,
  },
  {
    name: "sandboxd, in the cluster, Service",
    config: "SandboxdInClusterConnectionConfig",
    settings: () => ({ mode: "in-cluster-service" }),
    isInside: true,
    only: "1.0.8",
    note: `The template needs \`service: true\`. ${POLICY_NOTE} ${SANDBOXD_NOTE}`,
  },
];

/** The rows of the client. */
export const PYTHON_CLIENTS: Consumer[] = Object.entries(VERSIONS).flatMap(([version, packages]) =>
  WAYS.filter(({ only = version }) => only === version).flatMap((way) =>
    (["synchronous", "asynchronous"] as const).filter((name) => (way.interface ?? name) === name).map((name) => ({
      client: "k8s-agent-sandbox",
      version,
      way: `${name}, ${way.name}`,
      runs: way.isQuick ? "npm test" as const : "npm run soak -- consumers" as const,
      ...way.note === undefined ? {} : { note: way.note },
      run: (stage: Stage) => work(stage, packages, way, name === "asynchronous"),
    }))
  )
);

async function work(stage: Stage, packages: Packages, way: Way, asynchronous: boolean): Promise<Checks> {
  const { config, settings, prepare, isInside } = way;
  const python = await pythonWith(packages, say);
  await prepare?.(stage);
  const options = JSON.stringify({
    namespace: stage.ns.name,
    pool: isInside ? OPEN_POOL : POOL,
    asynchronous,
    config,
    settings: settings?.(stage) ?? {},
    sandboxd: config.startsWith("Sandboxd"),
  });
  const args = [programOf("client.py"), options];
  return JSON.parse(await (isInside ? stage.inside(python, args) : stage.here(python, args)));
}
