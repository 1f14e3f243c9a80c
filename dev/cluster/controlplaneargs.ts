/** Builds the command lines and the configuration of the control plane's processes. @module */
import { join } from "node:path";
import { stringify } from "yaml";

/** The Services' network of a cluster without a real node. Nothing answers at its addresses. */
export const SERVICE_SUBNET = "10.96.0.0/16";

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

export function schedulerArgs(configFile: string): string[] {
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
