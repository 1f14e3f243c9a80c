/** Starts a real node: containerd and kubelet in namespaces of their own, so that ending it undoes what it did. @module */
import { chmodSync, existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeImages } from "./busybox.ts";
import { makeCertificate } from "./certificates.ts";
import { type ControlPlane, userKubeconfig } from "./controlplane.ts";
import type { ImageSpec } from "./images.ts";
import { importImages } from "./importimages.ts";
import type { NodeTools } from "./machine.ts";
import { type Bridge, makeBridge, pickBridge } from "./network.ts";
import {
  MOUNT_POINTS,
  REAL_NODE,
  renderContainerdConfig,
  renderKubeletConfig,
  renderNetwork,
  renderRunc,
} from "./nodeconfig.ts";
import { type ProcessRecord, startTimeOf } from "./processes.ts";
import type { Session } from "./session.ts";
import { countReady } from "./simulated.ts";
import { waitUntil } from "./wait.ts";

const OVERLAY_FILE_SYSTEM = 0x794c7630;

export interface RealNode {
  tools: NodeTools;
  /** Paths of containerd, containerd-shim-runc-v2, ctr and kubelet, by name. */
  programs: Record<string, string>;
  images: ImageSpec[];
}

/** Starts the node, gives it its images and waits until it is Ready. */
export async function startRealNode(session: Session, plane: ControlPlane, node: RealNode): Promise<void> {
  const { id } = session.record();
  const bridge = pickBridge(id);
  const record = { bridge: bridge.name, busybox: node.tools.busybox };
  session.update({ realNode: record });
  session.progress("starting the real node …");
  await writeConfiguration(session, plane, node, bridge);
  makeBridge(node.tools.busybox, bridge);
  const env = {
    STATE: session.stateDir,
    MOUNT_POINTS: MOUNT_POINTS.join(" "),
    NODE_NAME: REAL_NODE,
    NODE_IP: bridge.address,
    CONTAINERD: node.programs["containerd"] ?? "containerd",
    KUBELET: node.programs["kubelet"] ?? "kubelet",
  };
  // As text rather than as a file, which may change under a cluster that stays up.
  const script = readFileSync(new URL("node.sh", import.meta.url), "utf8");
  const args = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", script, "node.sh"];
  const outer = session.start("node", "unshare", args, env);
  const first = await recordFirstProcess(session, outer);
  session.update({ realNode: { ...record, container: { first, ctr: node.programs["ctr"] ?? "ctr" } } });
  await waitForContainerd(session, first);
  await importImages(session.stateDir, [...nodeImages(node.tools.busybox), ...node.images], session);
  const probe = async () => await countReady(plane, `kubernetes.io/hostname=${REAL_NODE}`) === 1;
  const needs = [outer, { ...first, name: "kubelet", logFile: join(session.stateDir, "logs", "kubelet.log") }];
  await waitUntil({ what: "the real node", probe, needs, timeoutSeconds: 60, signal: session.signal });
}

async function writeConfiguration(
  session: Session,
  plane: ControlPlane,
  node: RealNode,
  bridge: Bridge,
): Promise<void> {
  const { id } = session.record();
  const folder = join(session.stateDir, "node");
  const cniConfig = join(folder, "cni");
  mkdirSync(cniConfig, { recursive: true });
  const { cniPlugins } = node.tools;
  const runc = join(folder, "runc");
  const shim = node.programs["containerd-shim-runc-v2"] ?? "";
  const snapshotter = statfsSync(folder).type === OVERLAY_FILE_SYSTEM ? "native" : "overlayfs";
  const network = { name: `hookbox-${id}`, bridge: bridge.name, subnet: bridge.subnet, gateway: bridge.address };
  const resolvConf = existsSync("/etc/resolv.conf") ? "/etc/resolv.conf" : "";
  const kubelet = { pki: plane.pki.folder, address: bridge.address, resolvConf };
  const files = {
    "containerd.toml": renderContainerdConfig({ cniConfig, cniPlugins, runc, shim }, snapshotter),
    "kubelet.yaml": renderKubeletConfig(kubelet),
    "cni/10-hookbox.conflist": renderNetwork(network),
    "runc": renderRunc(node.tools.runc),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  chmodSync(join(folder, "runc"), 0o755);
  const request = {
    commonName: REAL_NODE,
    use: "server" as const,
    ipAddresses: [bridge.address],
    dnsNames: [REAL_NODE],
  };
  const serving = await makeCertificate(request, plane.pki.ca);
  writeFileSync(join(plane.pki.folder, "kubelet.crt"), serving.certificate);
  writeFileSync(join(plane.pki.folder, "kubelet.key"), serving.key, { mode: 0o600 });
  userKubeconfig(plane, "kubelet");
}

/** Records the first process inside the namespaces: ending it ends all of them. */
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
