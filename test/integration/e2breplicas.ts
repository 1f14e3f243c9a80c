/**
 * Two servers of E2B's API and two routers, each a process that can be killed, on a cluster of its own. Its Pods are
 * simulated and have addresses of this machine, so that a server of the test answers for all of them. @module
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startCluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { localCRDs } from "../../dev/crds.ts";
import { startMetacontroller } from "../../dev/metacontroller/start.ts";
import { apiKeyOf } from "../../packages/api/e2b/identity.ts";
import { renderManifests } from "../../packages/manifests/render.ts";
import { keysSecret } from "../e2b/keyssecret.ts";
import { run, until } from "./kubectl.ts";
import { makeNamespace, type Namespace } from "./namespace.ts";
import { aPool, aSimulatedTemplate, untilFull } from "./pools.ts";
import { type Child, startChild } from "./processes.ts";

/** A process that clients reach. */
export interface Replica {
  name: string;
  /** Without a slash at its end. */
  url: string;
  /** Ends it at once, without a chance to finish anything. */
  kill(): Promise<void>;
  /** Starts it again on the same port. Returns when it is ready. */
  start(): Promise<void>;
}

export interface Replicas {
  apis: [Replica, Replica];
  routers: [Replica, Replica];
  /** A project with the pool `base`, and the template `held`, whose Pods wait until {@link Replicas.release}. */
  project: Namespace;
  apiKey: string;
  /** A port of all Pods. The answer to each request is the address that was asked; the one to `/stream` does not end. */
  podPort: number;
  /** Lets the Pods of the template `held` start that exist now. */
  release(): Promise<void>;
  down(): Promise<void>;
}

const NODES = 8;
/** On Linux all of 127/8 is the machine itself: what listens on a port of all addresses is in every Pod. */
const POD_SUBNET = "127.64.0.0/10";
/** Label of nodes that the Pods of `held` need. */
const RELEASED = "e2b-test-released";

/** Starts everything. @param size of the pool `base` */
export async function startReplicas(size: number): Promise<Replicas> {
  const directory = mkdtempSync(join(tmpdir(), "hookbox-e2b-"));
  const logs = process.env["HOOKBOX_TEST_LOGS"] ?? join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const ends: (() => Promise<unknown> | void)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const cluster = await startCluster({
    ...{ stateDir: join(directory, "cluster"), nodes: "simulated", simulatedNodes: NODES, podSubnet: POD_SUBNET },
    crds: localCRDs(),
  });
  ends.push(() => cluster.stop());
  const { kubeconfig } = cluster;
  const ports = await freePorts(9);
  const [hooksPort = 0] = ports;
  await run(cluster, ["apply", "-f", "-"], renderManifests(`http://127.0.0.1:${hooksPort}`));
  const start = (name: string, args: string[]) => startChild(`e2b-${name}`, args, logs);
  ends.push(start("hooks", ["hooks/serve.ts", "--host", "127.0.0.1", "--port", String(hooksPort)]).stop);
  const logFile = join(logs, "e2b-metacontroller.log");
  const engine = await startMetacontroller({ kubeconfig, logFile, progress: () => {} });
  ends.push(() => engine.stop());
  const given = ["--kubeconfig", kubeconfig];
  ends.push(start("keeper", ["packages/keeper/main.ts", ...given, "--port", "0"]).stop);

  const secretFile = join(directory, "secret");
  writeFileSync(secretFile, randomBytes(32).toString("hex"));
  const replica = async (name: string, args: string[], port: number, health: number): Promise<Replica> => {
    let child: Child | undefined;
    const begin = async () => {
      child = start(name, [...args, ...given, "--port", String(port)]);
      await until(() => isUp(`http://127.0.0.1:${health}/readyz`), (up) => up);
    };
    await begin();
    ends.push(() => child?.stop());
    return { name, url: `http://127.0.0.1:${port}`, kill: async () => await child?.kill("SIGKILL"), start: begin };
  };
  const api = (index: number) => {
    const [port = 0, health = 0] = ports.slice(1 + 2 * index);
    const args = ["packages/e2b/main.ts", "--secret-file", secretFile, "--health-port", String(health)];
    return replica(`api-${index}`, args, port, health);
  };
  const router = (index: number) => {
    const [port = 0, health = 0] = ports.slice(5 + 2 * index);
    const args = ["packages/router/main.ts", "--e2b-secret-file", secretFile, "--allow-loopback-pod-ip"];
    const more = ["--health-probe-bind-address", `127.0.0.1:${health}`, "--authz-mode", "allow-all", "--no-access-log"];
    return replica(`router-${index}`, [...args, ...more, "--identity", `router-${index}`], port, health);
  };

  const pods = createServer(({ url, socket }, answer) => {
    if (url === "/stream") return void answer.write(socket.localAddress);
    answer.end(socket.localAddress);
  }).listen(0, "0.0.0.0");
  await once(pods, "listening");
  ends.push(() => {
    pods.closeAllConnections();
    pods.close();
  });

  const project = await makeNamespace(cluster, () => {});
  const apiKey = apiKeyOf(project.name, randomBytes(24));
  const held = aSimulatedTemplate("held");
  const { spec: podSpec } = held.spec.podTemplate;
  podSpec.nodeSelector = { ...podSpec.nodeSelector, [RELEASED]: "true" };
  await project.apply(
    keysSecret(project.name, { main: { apiKey } }),
    aSimulatedTemplate("base"),
    aPool("base", size),
    held,
  );
  await untilFull(project, "base");
  return {
    apis: [await api(0), await api(1)],
    routers: [await router(0), await router(1)],
    project,
    apiKey,
    podPort: (pods.address() as AddressInfo).port,
    async release() {
      await run(cluster, ["label", "nodes", "--all", `${RELEASED}=true`]);
      const unscheduled = () => project.list("pod").then((all) => all.filter(({ spec }) => !spec.nodeName));
      await until(unscheduled, ({ length }) => length === 0);
      await run(cluster, ["label", "nodes", "--all", `${RELEASED}-`]);
    },
    async down() {
      for (const end of ends.toReversed()) await end();
    },
  };
}

async function isUp(url: string): Promise<boolean> {
  return await fetch(url).then(({ ok }) => ok, () => false);
}
