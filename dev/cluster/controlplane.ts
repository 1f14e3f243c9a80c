/** Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and waits for them. @module */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { type ApiAccess, callApi, readObject } from "./api.ts";
import { type Pki, type UserName, writePki } from "./certificates.ts";
import type { Network } from "./network.ts";
import { freePorts } from "./ports.ts";
import { kubeconfigPath, type Session } from "./state.ts";
import { withOwnVolumes } from "./storage.ts";
import { waitUntil } from "./processes.ts";

/** A running API server, and what the rest of the cluster needs to use it. */
export interface ControlPlane {
  access: ApiAccess;
  pki: Pki;
  /** Path of each program, by name. */
  programs: Record<string, string>;
}

/** The Services' network of a cluster without a real node. Nothing answers at its addresses. */
const SERVICE_SUBNET = "10.96.0.0/16";

/**
 * Starts etcd and kube-apiserver. When the API server answers, writes the administrator's kubeconfig.
 *
 * @param network the network of the real node that will be added; undefined: there will be none, and everything listens
 * on loopback only
 */
export async function startApiServer(
  session: Session,
  programs: Record<string, string>,
  network: Network | undefined,
  more: string[] = [],
): Promise<ControlPlane> {
  const [clientPort = 0, peerPort = 0, port = 0] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const { signal } = session;
  const folder = join(session.stateDir, "etcd");
  const etcd = session.start("etcd", programs["etcd"] ?? "etcd", etcdArgs({ folder, clientPort, peerPort }));
  const address = network?.machine ?? "127.0.0.1";
  const services = network?.services ?? SERVICE_SUBNET;
  const pki = await writePki(join(session.stateDir, "pki"), [address, firstAddress(services)]);
  const etcdIsUp = async () => (await fetch(`${etcdUrl}/health`, { headers: { connection: "close" } })).ok;
  await waitUntil({ what: "etcd", probe: etcdIsUp, needs: [etcd], timeoutSeconds: 30, signal });

  const server = `https://${address}:${port}`;
  const serverArgs = [...apiServerArgs({ address, services, port, etcdUrl, pki: pki.folder }), ...more];
  const apiServer = session.start("kube-apiserver", programs["kube-apiserver"] ?? "kube-apiserver", serverArgs);
  const access = { server, ca: pki.ca.certificate, token: pki.tokens.admin };
  const isUp = async () => (await callApi(access, "GET", "/readyz")).status === 200;
  await waitUntil({ what: "kube-apiserver", probe: isUp, needs: [etcd, apiServer], timeoutSeconds: 90, signal });
  writeFileSync(kubeconfigPath(session.stateDir), renderKubeconfig(access), { mode: 0o600 });
  session.update({ server });
  return { access, pki, programs };
}

/** Returns the address that Kubernetes gives to the Service `kubernetes`. */
function firstAddress(subnet: string): string {
  return subnet.replace(/0\/\d+$/, "1");
}

/** Starts kube-controller-manager, and waits until it has created the default ServiceAccount, which every Pod needs. */
export async function startControllerManager(session: Session, plane: ControlPlane): Promise<void> {
  const kubeconfig = userKubeconfig(plane, "controller-manager");
  const managerArgs = controllerManagerArgs({ kubeconfig, pki: plane.pki.folder });
  const program = plane.programs["kube-controller-manager"] ?? "kube-controller-manager";
  const { command, args: commandArgs } = withOwnVolumes(session, program, managerArgs);
  const manager = session.start("kube-controller-manager", command, commandArgs);
  const path = "/api/v1/namespaces/default/serviceaccounts/default";
  const probe = async () => (await readObject(plane.access, path)) !== undefined;
  const { signal } = session;
  await waitUntil({ what: "kube-controller-manager", probe, needs: [manager], timeoutSeconds: 60, signal });
}

/** Starts kube-scheduler. It is not necessary to wait for it, because Pods wait for it. */
export function startScheduler(session: Session, plane: ControlPlane): void {
  const configFile = join(session.stateDir, "scheduler.yaml");
  writeFileSync(configFile, renderSchedulerConfig(userKubeconfig(plane, "scheduler")));
  session.start("kube-scheduler", plane.programs["kube-scheduler"] ?? "kube-scheduler", schedulerArgs(configFile));
}

/** Writes the kubeconfig of one of the cluster's own users, and returns its path. */
export function userKubeconfig(plane: ControlPlane, user: UserName): string {
  const path = join(plane.pki.folder, `${user}.kubeconfig`);
  writeFileSync(path, renderKubeconfig({ ...plane.access, token: plane.pki.tokens[user] }), { mode: 0o600 });
  return path;
}

/** etcd's arguments. It runs without fsync, because the data of a local cluster is never recovered. */
export function etcdArgs(etcd: { folder: string; clientPort: number; peerPort: number }): string[] {
  const client = `http://127.0.0.1:${etcd.clientPort}`;
  const peer = `http://127.0.0.1:${etcd.peerPort}`;
  return [
    "--name=hookbox",
    `--data-dir=${etcd.folder}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=hookbox=${peer}`,
    "--unsafe-no-fsync=true",
    // A single member elects itself after one election timeout. The default timeout would take a second.
    "--heartbeat-interval=20",
    "--election-timeout=200",
    "--log-level=warn",
  ];
}

/**
 * kube-apiserver's arguments: RBAC, and TLS in both directions between it and kubelets.
 *
 * @param server `address` is the address to listen at: loopback, or the address at which a node's Pods reach the
 * machine
 */
export function apiServerArgs(
  server: { address: string; services: string; port: number; etcdUrl: string; pki: string },
): string[] {
  const file = (name: string) => join(server.pki, name);
  return [
    `--etcd-servers=${server.etcdUrl}`,
    `--bind-address=${server.address}`,
    `--advertise-address=${server.address}`,
    `--secure-port=${server.port}`,
    `--tls-cert-file=${file("apiserver.crt")}`,
    `--tls-private-key-file=${file("apiserver.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    // It taints every new Node, and kube-controller-manager needs long to remove the taints of hundreds of Nodes.
    "--disable-admission-plugins=TaintNodesByCondition",
    `--service-cluster-ip-range=${server.services}`,
    // A loopback address is not allowed as an endpoint of the Service "kubernetes".
    ...(server.address === "127.0.0.1" ? ["--endpoint-reconciler-type=none"] : []),
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${file("sa.pub")}`,
    `--service-account-signing-key-file=${file("sa.key")}`,
    `--kubelet-certificate-authority=${file("ca.crt")}`,
    `--kubelet-client-certificate=${file("kubelet-client.crt")}`,
    `--kubelet-client-key=${file("kubelet-client.key")}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--allow-privileged=true",
    "--profiling=false",
  ];
}

/** kube-controller-manager's arguments: every default controller, high rate limits, and no port. */
export function controllerManagerArgs(manager: { kubeconfig: string; pki: string }): string[] {
  return [
    `--kubeconfig=${manager.kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    `--root-ca-file=${join(manager.pki, "ca.crt")}`,
    `--service-account-private-key-file=${join(manager.pki, "sa.key")}`,
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--concurrent-gc-syncs=40",
    "--concurrent-namespace-syncs=20",
    "--enable-hostpath-provisioner=true",
    "--profiling=false",
  ];
}

function schedulerArgs(configFile: string): string[] {
  return [`--config=${configFile}`, "--secure-port=0"];
}

/** Renders the scheduler's configuration: no leader election, high rate limits, quick retries. */
export function renderSchedulerConfig(kubeconfig: string): string {
  return stringify({
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig, qps: 500, burst: 1000 },
    leaderElection: { leaderElect: false },
    enableProfiling: false,
    podInitialBackoffSeconds: 1,
    podMaxBackoffSeconds: 2,
  });
}

/**
 * Renders a kubeconfig with one cluster, one user with a bearer token and one context, all named `hookbox`.
 *
 * @param access `ca` is the PEM of the API server's certificate authority
 */
export function renderKubeconfig(access: { server: string; ca: string; token: string }): string {
  const name = "hookbox";
  const authority = Buffer.from(access.ca).toString("base64");
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: access.server, "certificate-authority-data": authority } }],
    users: [{ name, user: { token: access.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}
