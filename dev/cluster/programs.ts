/** Defines the Go programs of the local cluster, and the names of the cache folders of their builds. @module */
import { createHash } from "node:crypto";

/** Programs that one `go build` builds together. The first group contains everything that a control plane needs. */
export interface ProgramGroup {
  title: string;
  /** Folder of the go.mod, relative to dev/cluster. */
  module: "." | "containerd" | "contour" | "coredns" | "helm" | "kueue" | "prometheus";
  /** Go package of each program, by program name. */
  packages: Record<string, string>;
  /** Module whose version our own program (main.go in the same folder) has; absent: there is no such program. */
  versionOf?: string;
  /** Build constraints, as `go build -tags` takes them. */
  tags?: string;
}

export const CONTROL_PLANE: ProgramGroup = {
  title: "the control plane",
  module: ".",
  packages: {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
  },
};

export const SIMULATED_NODES: ProgramGroup = {
  title: "simulated nodes",
  module: ".",
  packages: { kwok: "sigs.k8s.io/kwok/cmd/kwok" },
};

export const NODE: ProgramGroup = {
  title: "the real node's kubelet and kube-proxy",
  module: ".",
  packages: { "kubelet": "k8s.io/kubernetes/cmd/kubelet", "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy" },
};

export const DNS: ProgramGroup = {
  title: "the real node's DNS server",
  module: "coredns",
  packages: { coredns: "hookbox.local/dev/cluster/coredns" },
  versionOf: "github.com/coredns/coredns",
};

export const CONTAINERD: ProgramGroup = {
  title: "the real node's container runtime",
  module: "containerd",
  packages: {
    "containerd": "github.com/containerd/containerd/v2/cmd/containerd",
    "containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    "ctr": "github.com/containerd/containerd/v2/cmd/ctr",
  },
};

/** For tests of the chart. Clusters do not need it. */
export const HELM: ProgramGroup = {
  title: "Helm",
  module: "helm",
  packages: { helm: "helm.sh/helm/v4/cmd/helm" },
};

/** For the test of the chart's routes: a Gateway's control plane, which Envoy asks for its configuration. */
export const CONTOUR: ProgramGroup = {
  title: "Contour",
  module: "contour",
  packages: { contour: "github.com/projectcontour/contour/cmd/contour" },
};

/** For the long test of queues: its manager, with the webhooks. */
export const KUEUE: ProgramGroup = {
  title: "Kueue",
  module: "kueue",
  packages: { kueue: "sigs.k8s.io/kueue/cmd/kueue" },
};

/** For the test of monitoring. Without service discovery, it builds in half of the time. */
export const PROMETHEUS: ProgramGroup = {
  title: "Prometheus",
  module: "prometheus",
  packages: { prometheus: "github.com/prometheus/prometheus/cmd/prometheus" },
  tags: "remove_all_sd",
};

/**
 * Finds the required version of the module that contains a package in a go.mod.
 *
 * @returns for example `v1.36.3`
 * @throws {RangeError} if no required module is a prefix of the package
 */
export function requiredVersion(goMod: string, goPackage: string): string {
  let found = { module: "", version: "" };
  for (const [, module = "", version = ""] of goMod.matchAll(/^(?:require)?\s+([^\s()]+)\s+(v\S+)(?:\s+\/\/.*)?$/gm)) {
    const holds = goPackage === module || goPackage.startsWith(`${module}/`);
    // Modules can be nested. The innermost one contains the package.
    if (holds && module.length > found.module.length) found = { module, version };
  }
  if (found.version !== "") return found.version;
  throw new RangeError(`Cannot tell the version of "${goPackage}": go.mod requires no module that holds it`);
}

/** Linker flags that set the version of Kubernetes programs. Other programs ignore them. */
export function linkerFlags(kubernetesVersion: string): string {
  const [major, minor] = kubernetesVersion.replace(/^v/, "").split(".");
  const set = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
  const version = Object.entries(set).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  return ["-s", "-w", ...version].join(" ");
}

/**
 * Returns the name of the cache folder for one module's programs. Everything that changes the build changes the name.
 *
 * @returns `<module>-<16 hexadecimal digits>`
 */
export function cacheKey(
  build: { module: string; goMod: string; goSum: string; flags: string; target: string },
): string {
  const hash = createHash("sha256");
  for (const part of [build.goMod, build.goSum, build.flags, build.target]) hash.update(`${part.length}:${part}`);
  const name = build.module === "." ? "kubernetes" : build.module;
  return `${name}-${hash.digest("hex").slice(0, 16)}`;
}
