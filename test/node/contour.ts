/** A Gateway of the Gateway API: Contour and Envoy, as processes of this machine. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { findPrograms } from "../../dev/cluster/binaries.ts";
import type { Cluster } from "../../dev/cluster/cluster.ts";
import { moduleFolder } from "../../dev/cluster/modules.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { CONTOUR, requiredVersion } from "../../dev/cluster/programs.ts";
import { type Packages, pythonWith } from "../clients/python.ts";
import { run, until } from "../integration/kubectl.ts";
import { makeTempFolder } from "../tempfolder.ts";

/** A Gateway that has an address. */
export interface Gateway {
  name: string;
  namespace: string;
  /** Its address, where port 80 answers. */
  address: string;
  /** Ends its processes. */
  stop(): void;
}

const ENVOY: Packages = {
  name: "envoy",
  label: "Envoy",
  requirements: fileURLToPath(new URL("requirements-envoy.txt", import.meta.url)),
};

const LOOPBACK = "127.0.0.1";
const NAMESPACE = "gateways";
const NAME = "web";
/** Where Contour has Envoy listen for a listener of port 80. */
const ENVOY_PORT = 8080;

const metadata = (name: string, namespace?: string) => ({ name, ...namespace === undefined ? {} : { namespace } });

/** For beforeAll: builds Contour and installs Envoy, which takes minutes on a new machine. */
export async function needsGateway(progress: (line: string) => void): Promise<void> {
  await programs(progress);
}

async function programs(progress: (line: string) => void): Promise<{ contour: string; envoy: string }> {
  const { contour = "" } = await findPrograms(CONTOUR, { progress });
  const python = await pythonWith(ENVOY, progress);
  const [envoy = ""] = globSync(join(python, "../../lib/python*/site-packages/envoy/_bin/envoy"));
  return { contour, envoy };
}

/**
 * Creates the Gateway API's CRDs and a Gateway for routes of all namespaces, and resolves when the Gateway has an address.
 *
 * @param progress takes a line about what takes long
 */
export async function startGateway(cluster: Cluster, progress: (line: string) => void): Promise<Gateway> {
  const { contour, envoy } = await programs(progress);
  const apply = (...objects: object[]) =>
    run(cluster, ["apply", "--server-side", "-f", "-"], objects.map((each) => stringify(each)).join("---\n"));
  const goMod = readFileSync(new URL("../../dev/cluster/contour/go.mod", import.meta.url), "utf8");
  const folderOf = (module: string) => moduleFolder(`${module}@${requiredVersion(goMod, module)}`);
  const definitions = [
    join(await folderOf("sigs.k8s.io/gateway-api"), "config/crd/standard"),
    join(await folderOf("github.com/projectcontour/contour"), "examples/contour/01-crds.yaml"),
  ];
  for (const each of definitions) await run(cluster, ["apply", "--server-side", "-f", each]);
  await run(cluster, ["wait", "--for=condition=Established", "crd", "--all", "--timeout=600s"]);
  const address = machineOf(cluster);
  const apiVersion = "gateway.networking.k8s.io/v1";
  const allowedRoutes = { namespaces: { from: "All" } };
  const listeners = [{ name: "http", protocol: "HTTP", port: 80, allowedRoutes }];
  await apply(
    { apiVersion: "v1", kind: "Namespace", metadata: metadata(NAMESPACE) },
    {
      apiVersion,
      kind: "GatewayClass",
      metadata: metadata("contour"),
      spec: { controllerName: "projectcontour.io/gateway-controller" },
    },
    {
      apiVersion,
      kind: "Gateway",
      metadata: metadata(NAME, NAMESPACE),
      spec: { gatewayClassName: "contour", listeners },
    },
  );
  const end = await startProcesses(contour, envoy, cluster, address);
  const balancer = await startBalancer(address);
  await until(
    async () => JSON.parse(await run(cluster, ["-n", NAMESPACE, "get", "gateway", NAME, "-o", "json"])),
    ({ status }) => status?.addresses?.[0]?.value === address,
  );
  const stop = () => {
    end();
    balancer.close();
  };
  return { name: NAME, namespace: NAMESPACE, address, stop };
}

/** Forwards connections to Envoy, as a cloud's load balancer does. @param address where Envoy listens, too */
async function startBalancer(address: string): Promise<Server> {
  const server = createServer((client) => {
    const envoy = createConnection(ENVOY_PORT, address);
    client.pipe(envoy).pipe(client);
    client.on("error", () => envoy.destroy());
    envoy.on("error", () => client.destroy());
  });
  await once(server.listen(80, address), "listening");
  return server;
}

/** The address of this machine in the network of the node. The API server listens there. */
const machineOf = ({ server }: Cluster) => new URL(server).hostname;

/** Starts both. @returns ends them */
async function startProcesses(contour: string, envoy: string, cluster: Cluster, address: string): Promise<() => void> {
  const folder = makeTempFolder();
  const [xds = 0, health = 0, metrics = 0, debug = 0, stats = 0] = await freePorts(5);
  const config = join(folder, "contour.yaml");
  writeFileSync(config, stringify({ gateway: { gatewayRef: { name: NAME, namespace: NAMESPACE } } }));
  const listening = Object.entries({ xds, health, http: metrics, "debug-http": debug, stats })
    .flatMap(([what, port]) => [`--${what}-address=${LOOPBACK}`, `--${what}-port=${port}`]);
  const kubeconfig = [`--kubeconfig=${cluster.kubeconfig}`, "--disable-leader-election", "--insecure"];
  const others = ["tlsroutes", "tcproutes", "backendtlspolicies"].map((kind) => `--disable-feature=${kind}`);
  const bind = `--envoy-service-http-address=${address}`;
  const bootstrap = join(folder, "envoy.json");
  const children = [
    start(contour, [
      "serve",
      `--config-path=${config}`,
      ...kubeconfig,
      ...listening,
      ...others,
      bind,
      `--ingress-status-address=${address}`,
    ]),
  ];
  await new Promise((resolve, reject) => {
    const socket = `--admin-address=${join(folder, "admin.sock")}`;
    const args = ["bootstrap", `--xds-address=${LOOPBACK}`, `--xds-port=${xds}`, socket, bootstrap];
    spawn(contour, args, { stdio: "ignore" }).once("close", resolve).once("error", reject);
  });
  children.push(
    start(envoy, [
      "-c",
      bootstrap,
      "--use-dynamic-base-id",
      "--concurrency",
      "1",
      "--service-cluster",
      "gw",
      "--service-node",
      "gw",
    ]),
  );
  return () => children.forEach((child) => child.kill("SIGKILL"));

  function start(program: string, args: string[]) {
    const log = openSync(join(folder, `${args[0]}.log`), "a");
    const child = spawn(program, args, { stdio: ["ignore", log, log] });
    process.once("exit", () => child.kill("SIGKILL"));
    return child;
  }
}
