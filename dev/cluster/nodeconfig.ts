/** Configuration of the real node's containerd, kubelet, Pod network, kube-proxy and DNS. Pure: starts and writes nothing. @module */
import { stringify } from "yaml";
import type { Network } from "./network.ts";

/** DNS domain of the cluster. */
export const CLUSTER_DOMAIN = "cluster.local";
export const REAL_NODE = "real-0";
/** Folder, in the node's, of the registries that it trusts without TLS: one folder each, by host and port. */
export const REGISTRIES_FOLDER = "registries";
export const PAUSE_IMAGE = "hookbox.local/pause:1";

/**
 * Folders of the machine that containerd, runc, the CNI plugins, kubelet and the volume provisioner write to whatever
 * their configuration says. The node has its own mounted over them.
 */
export const VOLUMES_FOLDER = "/tmp/hostpath_pv";
export const MOUNT_POINTS = [
  "/run/containerd",
  "/var/lib/cni",
  "/var/lib/containerd",
  "/var/lib/kubelet",
  "/var/log/containers",
  VOLUMES_FOLDER,
];

/**
 * Renders containerd's configuration.
 *
 * @param paths `cniConfig`, `cniPlugins` and `registries` are folders, `runc`, `crun` and `shim` programs
 * @param snapshotter `overlayfs`, or `native` where the disk does not take overlays
 */
export function renderContainerdConfig(
  paths: { cniConfig: string; cniPlugins: string; registries: string; runc: string; crun: string; shim: string },
  snapshotter: "overlayfs" | "native",
): string {
  // A JSON string is a TOML basic string.
  const text = JSON.stringify;
  const runtime = `plugins."io.containerd.cri.v1.runtime"`;
  const handler = (name: "runc" | "crun") =>
    `[${runtime}.containerd.runtimes.${name}]
runtime_type = "io.containerd.runc.v2"
runtime_path = ${text(paths.shim)}

[${runtime}.containerd.runtimes.${name}.options]
BinaryName = ${text(paths[name])}
SystemdCgroup = false
`;
  return `version = 3
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", \
"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.erofs", \
"io.containerd.snapshotter.v1.blockfile", "io.containerd.nri.v1.nri"]

[plugins."io.containerd.cri.v1.images"]
snapshotter = ${text(snapshotter)}

[plugins."io.containerd.cri.v1.images".registry]
config_path = ${text(paths.registries)}

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = ${text(PAUSE_IMAGE)}

[${runtime}]
disable_apparmor = true
enable_unprivileged_icmp = false
enable_unprivileged_ports = false
netns_mounts_under_state_dir = true
restrict_oom_score_adj = true

[${runtime}.cni]
bin_dirs = [${text(paths.cniPlugins)}]
conf_dir = ${text(paths.cniConfig)}

${(["runc", "crun"] as const).map(handler).join("\n")}`;
}

/** Renders the kubelet's configuration; its API takes the client certificates of this cluster's authority only. */
export function renderKubeletConfig(
  node: { pki: string; address: string; resolvConf: string; clusterDomain: string },
): string {
  return stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: node.address,
    healthzPort: 0,
    tlsCertFile: `${node.pki}/kubelet.crt`,
    tlsPrivateKeyFile: `${node.pki}/kubelet.key`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: `${node.pki}/ca.crt` },
    },
    authorization: { mode: "AlwaysAllow" },
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    cgroupDriver: "cgroupfs",
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
    oomScoreAdj: 0,
    podLogsDir: "/var/lib/kubelet/pod-logs",
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
    resolvConf: node.resolvConf,
    clusterDNS: [node.address],
    clusterDomain: node.clusterDomain,
    maxPods: 200,
    // The disk is the developer's: neither its fill nor old images are reasons to evict or to delete.
    evictionHard: { "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
    imageGCHighThresholdPercent: 100,
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
    eventRecordQPS: 0,
    registryPullQPS: 0,
    serializeImagePulls: false,
    shutdownGracePeriod: "0s",
  });
}

/**
 * Renders the program that containerd calls as runc or crun. The provisioner makes volumes that only root may write, and
 * Pods often run as somebody else, so it opens them before a container starts. Debian's crun 1.8 takes no bundle that says
 * it is of a later version of the runtime specification than 1.0; what containerd writes it understands all the same.
 *
 * @param program path of the runtime itself
 */
export function renderRuntime(runtime: "runc" | "crun", program: string): string {
  const older = `\n  bundle=\${*##*--bundle }
  sed -i 's/"ociVersion": *"1\\.[1-9][^"]*"/"ociVersion":"1.0.2"/' "\${bundle%% *}/config.json"`;
  return `#!/bin/sh
case " $* " in *" create "*)
  chmod -f 0777 ${VOLUMES_FOLDER}/*${runtime === "crun" ? older : ""} ;;
esac
exec ${program} "$@"
`;
}

/**
 * Renders the CNI network list: each Pod on a cable of its own, addresses of the node's subnet, and the node as the way
 * out. What Pods send each other passes the node, which can turn it to where Services lead, or away.
 */
export function renderNetwork(name: string, { subnet, node }: Network): string {
  const rangeStart = node.replace(/\.2$/, ".3");
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet, rangeStart, gateway: node }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return JSON.stringify({ cniVersion: "1.0.0", name, plugins: [{ type: "ptp", ipam }] }, null, 2);
}

/** Renders kube-proxy's configuration: Services by nftables, and no setting of the machine touched. */
export function renderProxyConfig(proxy: { kubeconfig: string; nodeName: string; network: Network }): string {
  const { kubeconfig, nodeName, network } = proxy;
  return stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: nodeName,
    clientConnection: { kubeconfig, qps: 100, burst: 200 },
    clusterCIDR: network.subnet,
    detectLocalMode: "ClusterCIDR",
    healthzBindAddress: "127.0.0.1:10256",
    metricsBindAddress: "127.0.0.1:10249",
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nftables: { syncPeriod: "30s", minSyncPeriod: "100ms" },
  });
}

/**
 * Renders CoreDNS' configuration: names of Services and Pods, and what the machine itself resolves.
 *
 * @param dns `forward` is a file in the form of resolv.conf; undefined: no other names
 */
export function renderDnsConfig(
  dns: { kubeconfig: string; address: string; domain: string; forward: string | undefined },
): string {
  const { kubeconfig, address, domain, forward } = dns;
  return `.:53 {
  bind ${address}
  errors
  ready 127.0.0.1:8181
  kubernetes ${domain} in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 1
  }
${forward === undefined ? "" : `  forward . ${forward}\n`}}
`;
}
