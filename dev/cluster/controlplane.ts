/** Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and waits for them. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiAccess, callApi, readObject } from "./api.ts";
import * as args from "./controlplaneargs.ts";
import { renderKubeconfig } from "./kubeconfig.ts";
import { type Pki, type UserName, writePki } from "./pki.ts";
import type { Network } from "./network.ts";
import { freePorts } from "./ports.ts";
import type { Session } from "./session.ts";
import { withOwnVolumes } from "./storage.ts";
import { kubeconfigPath } from "./state.ts";
import { waitUntil } from "./wait.ts";

/** A running API server, and what the rest of the cluster needs to use it. */
export interface ControlPlane {
  access: ApiAccess;
  pki: Pki;
  /** Path of each program, by name. */
  programs: Record<string, string>;
}

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
  const etcdArgs = args.etcdArgs({ folder: join(session.stateDir, "etcd"), clientPort, peerPort });
  const etcd = session.start("etcd", programs["etcd"] ?? "etcd", etcdArgs);
  const address = network?.machine ?? "127.0.0.1";
  const services = network?.services ?? args.SERVICE_SUBNET;
  const pki = await writePki(join(session.stateDir, "pki"), [address, firstAddress(services)]);
  const etcdIsUp = async () => (await fetch(`${etcdUrl}/health`, { headers: { connection: "close" } })).ok;
  await waitUntil({ what: "etcd", probe: etcdIsUp, needs: [etcd], timeoutSeconds: 30, signal });

  const server = `https://${address}:${port}`;
  const serverArgs = [...args.apiServerArgs({ address, services, port, etcdUrl, pki: pki.folder }), ...more];
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
  const managerArgs = args.controllerManagerArgs({ kubeconfig, pki: plane.pki.folder });
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
  writeFileSync(configFile, args.renderSchedulerConfig(userKubeconfig(plane, "scheduler")));
  session.start("kube-scheduler", plane.programs["kube-scheduler"] ?? "kube-scheduler", args.schedulerArgs(configFile));
}

/** Writes the kubeconfig of one of the cluster's own users, and returns its path. */
export function userKubeconfig(plane: ControlPlane, user: UserName): string {
  const path = join(plane.pki.folder, `${user}.kubeconfig`);
  writeFileSync(path, renderKubeconfig({ ...plane.access, token: plane.pki.tokens[user] }), { mode: 0o600 });
  return path;
}
