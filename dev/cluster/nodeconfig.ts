/** Renders the configuration of the real node's containerd, kubelet, Pod network, kube-proxy and DNS. @module */
import { stringify } from "yaml";
import type { Network } from "./network.ts";

/** DNS domain of the cluster. */
export const CLUSTER_DOMAIN = "cluster.local";
export const REAL_NODE = "real-0";
/** Folder on the node of the registries that it trusts without TLS. Each has a folder named by host and port. */
export const REGISTRIES_FOLDER = "registries";
export const PAUSE_IMAGE = "hookbox.local/pause:1";

/**
 * Folders of the machine that containerd, runc, the CNI plugins, kubelet and the volume provisioner always write to,
 * whatever their configuration is. The node mounts its own folders over them.
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
 * @param paths `cniConfig`, `cniPlugins` and `registries` are folders; `runc`, `crun` and `shim` are programs
 * @param snapshotter `overlayfs`, or `native` if the file system does not allow overlays
 */
export function renderContainerdConfig(
  paths: { cniConfig: string; cniPlugins: string; registries: string; runc: string; crun: string; shim: string },
  snapshotter: "overlayfs" | "native",
): string {
  // A JSON string is also a valid TOML basic string.
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

/** Renders the kubelet's configuration. Its API only accepts client certificates of this cluster's authority. */
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
    // The disk belongs to the developer: neither a full disk nor old images are a reason to evict Pods or to delete
    // images.
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
 * Renders the script that containerd runs as runc or crun. It makes two corrections before it runs the runtime. The
 * provisioner creates volumes to which only root can write, but Pods often run as another user, so the script makes the
 * volumes writable before a container starts. Debian's crun 1.8 refuses bundles that name a version of the runtime
 * specification later than 1.0, although it understands containerd's bundles, so the script changes the version.
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
 * Renders the CNI network list. Each Pod has its own virtual cable, an address of the node's network, and the node as
 * its gateway. Traffic between Pods also passes through the node, which can redirect it (for Services) or drop it.
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

/** Renders kube-proxy's configuration: Services with nftables, and no changes to settings of the machine. */
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
 * Renders CoreDNS' configuration: it resolves the names of Services and Pods, and the names that the machine itself
 * resolves.
 *
 * @param dns `forward` is a file in the format of resolv.conf; undefined: no other names
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
