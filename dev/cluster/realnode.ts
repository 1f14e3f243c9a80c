/**
 * Starts a real node: containerd, kubelet, kube-proxy and DNS in their own namespaces. When the node ends, its changes
 * to the machine disappear with the namespaces. @module
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type ApiAccess, createObject } from "./api.ts";
import { type ImageSpec, importImages, nodeImages } from "./images.ts";
import { makeCertificate } from "./certificates.ts";
import { type ControlPlane, userKubeconfig } from "./controlplane.ts";
import { type NodeTools, supportsOverlayMounts } from "./machine.ts";
import { type Network, plugNode } from "./network.ts";
import {
  CLUSTER_DOMAIN,
  MOUNT_POINTS,
  REAL_NODE,
  REGISTRIES_FOLDER,
  renderContainerdConfig,
  renderDnsConfig,
  renderKubeletConfig,
  renderNetwork,
  renderProxyConfig,
  renderRuntime,
} from "./nodeconfig.ts";
import { type ProcessRecord, startTimeOf, waitUntil } from "./processes.ts";
import { kubeconfigPath, type Session } from "./state.ts";
import { countReady } from "./simulated.ts";

interface RealNode {
  tools: NodeTools;
  network: Network;
  /** Paths of containerd, containerd-shim-runc-v2, ctr, kubelet, kube-proxy and coredns, by name. */
  programs: Record<string, string>;
  images: ImageSpec[];
  /** Whether NetworkPolicies are enforced. */
  networkPolicies: boolean;
}

/** Starts the node, imports its images, and waits until it is Ready. */
export async function startRealNode(session: Session, plane: ControlPlane, node: RealNode): Promise<void> {
  const { network, tools } = node;
  const record = { busybox: tools.busybox };
  session.update({ realNode: record });
  session.progress("starting the real node …");
  await writeConfiguration(session, plane, node);
  const program = (name: string) => node.programs[name] ?? name;
  const env = {
    STATE: session.stateDir,
    MOUNT_POINTS: MOUNT_POINTS.join(" "),
    NODE_NAME: REAL_NODE,
    NODE_IP: network.node,
    CONTAINERD: program("containerd"),
    KUBELET: program("kubelet"),
    KUBE_PROXY: program("kube-proxy"),
    COREDNS: program("coredns"),
    PATH: `${dirname(tools.nft)}:${process.env["PATH"]}`,
  };
  // The script is passed as text, because a file may change while a cluster stays up.
  const script = readFileSync(new URL("node.sh", import.meta.url), "utf8");
  const args = [
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "/bin/sh",
    "-c",
    script,
    "node.sh",
  ];
  const outer = session.start("node", "unshare", args, env);
  const first = await recordFirstProcess(session, outer);
  session.update({ realNode: { ...record, container: { first, ctr: program("ctr") } } });
  plugNode(tools.ip, network, first.pid);
  writeFileSync(join(session.stateDir, "node", "plugged"), "");
  if (node.networkPolicies) startNetworkPolicies(session, tools, first);
  await waitForContainerd(session, first);
  await refuseResizes(plane.access);
  await importImages(session.stateDir, [...nodeImages(tools.busybox), ...node.images], session);
  const probe = async () => await countReady(plane, `kubernetes.io/hostname=${REAL_NODE}`) === 1;
  const needs = [outer, { ...first, name: "kubelet", logFile: join(session.stateDir, "logs", "kubelet.log") }];
  await waitUntil({ what: "the real node", probe, needs, timeoutSeconds: 60, signal: session.signal });
}

/**
 * Refuses in-place resizes of the node's Pods. This kubelet runs without control groups for Pods (`cgroupsPerQOS`), because
 * they need rights that a container does not have. Without them, kubelet 1.36 crashes at the first resize and at each later
 * start.
 */
async function refuseResizes(access: ApiAccess): Promise<void> {
  const metadata = { name: "hookbox-local-node-resizes" };
  const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods/resize"], operations: ["UPDATE"] };
  await createObject(access, `${path}ies`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata,
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{
        expression: `object.spec.?nodeName.orValue("") != "${REAL_NODE}"`,
        message: `The local node ${REAL_NODE} cannot resize a Pod in place. Change the spec and make another Pod.`,
      }],
    },
  });
  await createObject(access, `${path}ybindings`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: metadata.name, validationActions: ["Deny"] },
  });
}

function startNetworkPolicies(session: Session, { nft }: NodeTools, first: ProcessRecord): void {
  const script = fileURLToPath(new URL("networkpolicies/main.ts", import.meta.url));
  const args = ["--kubeconfig", kubeconfigPath(session.stateDir), "--node", String(first.pid), "--nft", nft];
  session.start("network-policies", process.execPath, ["--no-warnings", script, ...args]);
}

async function writeConfiguration(
  session: Session,
  plane: ControlPlane,
  { tools, programs, network }: RealNode,
): Promise<void> {
  const folder = join(session.stateDir, "node");
  const cniConfig = join(folder, "cni");
  mkdirSync(cniConfig, { recursive: true });
  const { cniPlugins } = tools;
  const registries = join(folder, REGISTRIES_FOLDER);
  const runtimes = { runc: join(folder, "runc"), crun: join(folder, "crun") };
  const shim = programs["containerd-shim-runc-v2"] ?? "";
  const snapshotter = supportsOverlayMounts(folder) ? "overlayfs" : "native";
  const resolvConf = existsSync("/etc/resolv.conf") ? "/etc/resolv.conf" : "";
  const hasResolver = resolvConf !== "" && /^nameserver /m.test(readFileSync(resolvConf, "utf8"));
  const domain = CLUSTER_DOMAIN;
  const kubelet = { pki: plane.pki.folder, address: network.node, resolvConf, clusterDomain: domain };
  const proxy = { kubeconfig: userKubeconfig(plane, "kube-proxy"), nodeName: REAL_NODE, network };
  const dns = {
    kubeconfig: userKubeconfig(plane, "coredns"),
    address: network.node,
    domain,
    forward: hasResolver ? resolvConf : undefined,
  };
  const files = {
    "containerd.toml": renderContainerdConfig({ cniConfig, cniPlugins, registries, shim, ...runtimes }, snapshotter),
    "kubelet.yaml": renderKubeletConfig(kubelet),
    "kube-proxy.yaml": renderProxyConfig(proxy),
    "Corefile": renderDnsConfig(dns),
    "cni/10-hookbox.conflist": renderNetwork("hookbox", network),
    "runc": renderRuntime("runc", tools.runc),
    "crun": renderRuntime("crun", tools.crun),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  for (const program of Object.values(runtimes)) chmodSync(program, 0o755);
  const request = {
    commonName: REAL_NODE,
    use: "server" as const,
    ipAddresses: [network.node],
    dnsNames: [REAL_NODE],
  };
  const serving = await makeCertificate(request, plane.pki.ca);
  writeFileSync(join(plane.pki.folder, "kubelet.crt"), serving.certificate);
  writeFileSync(join(plane.pki.folder, "kubelet.key"), serving.key, { mode: 0o600 });
  userKubeconfig(plane, "kubelet");
}

/** Records the first process in the namespaces: if it ends, all others end too. */
async function recordFirstProcess(session: Session, outer: ProcessRecord): Promise<ProcessRecord> {
  let first: ProcessRecord | undefined;
  const probe = () => {
    const [pid] = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8").split(" ").map(Number);
    const startTime = pid ? startTimeOf(pid) : undefined;
    if (pid && startTime) first = { ...outer, name: "the real node's first process", pid, startTime };
    return Promise.resolve(first !== undefined);
  };
  await waitUntil({ what: "the real node", probe, needs: [outer], timeoutSeconds: 10, signal: session.signal });
  if (!first) throw new Error("Cannot start the real node: its first process did not appear");
  session.update({ processes: [...session.record().processes, first] });
  return first;
}

async function waitForContainerd(session: Session, first: ProcessRecord): Promise<void> {
  const socket = `/proc/${first.pid}/root/run/containerd/containerd.sock`;
  const probe = () => Promise.resolve(existsSync(socket));
  await waitUntil({ what: "containerd", probe, needs: [first], timeoutSeconds: 30, signal: session.signal });
}
