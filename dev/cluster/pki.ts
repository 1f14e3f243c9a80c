/**
 * Creates the keys, certificates and tokens of one cluster, and the files from which its processes read them. @module
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KeyedCertificate, makeCertificate, makeKeys } from "./certificates.ts";
import { REAL_NODE } from "./nodeconfig.ts";

export interface Pki {
  folder: string;
  ca: KeyedCertificate;
  /** Bearer token of each user in `USERS`. */
  tokens: Record<UserName, string>;
}

export type UserName = "admin" | "controller-manager" | "scheduler" | "kwok" | "kubelet" | "kube-proxy" | "coredns";

const USERS: Record<UserName, { user: string; group: string }> = {
  "admin": { user: "hookbox-admin", group: "system:masters" },
  // All its controllers share one identity here, so it needs the rights of all of them.
  "controller-manager": { user: "system:kube-controller-manager", group: "system:masters" },
  "scheduler": { user: "system:kube-scheduler", group: "system:authenticated" },
  "kwok": { user: "hookbox-kwok", group: "system:masters" },
  "kubelet": { user: `system:node:${REAL_NODE}`, group: "system:nodes" },
  // Kubernetes itself grants this user its rights.
  "kube-proxy": { user: "system:kube-proxy", group: "system:authenticated" },
  // It lists Services, EndpointSlices and Namespaces of all namespaces.
  "coredns": { user: "hookbox-coredns", group: "system:masters" },
};

/**
 * Creates everything and writes it to a folder: `ca.crt`, `apiserver.{crt,key}`, `kubelet-client.{crt,key}`,
 * `sa.{pub,key}` and `tokens.csv`.
 *
 * @param addresses addresses of the API server: its own, and that of the Service `kubernetes`
 */
export async function writePki(folder: string, addresses: readonly string[]): Promise<Pki> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ca = await makeCertificate({ commonName: "hookbox local cluster", use: "authority" });
  const [apiServer, kubeletClient, serviceAccounts] = await Promise.all([
    makeCertificate({
      commonName: "kube-apiserver",
      use: "server",
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
      ipAddresses: ["127.0.0.1", ...addresses],
    }, ca),
    makeCertificate({ commonName: "kube-apiserver-kubelet-client", organization: "system:masters", use: "client" }, ca),
    makeKeys(),
  ]);
  const tokens = makeTokens();
  const files = {
    "ca.crt": ca.certificate,
    "apiserver.crt": apiServer.certificate,
    "apiserver.key": apiServer.key,
    "kubelet-client.crt": kubeletClient.certificate,
    "kubelet-client.key": kubeletClient.key,
    "sa.pub": serviceAccounts.publicKey,
    "sa.key": serviceAccounts.privateKey,
    "tokens.csv": renderTokens(tokens),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return { folder, ca, tokens };
}

function makeTokens(): Record<UserName, string> {
  const names = Object.keys(USERS) as UserName[];
  return Object.fromEntries(names.map((name) => [name, randomBytes(16).toString("hex")])) as Record<UserName, string>;
}

/** Renders kube-apiserver's static token file, with token, user, uid and groups of one user on each line. */
export function renderTokens(tokens: Record<UserName, string>): string {
  const names = Object.keys(USERS) as UserName[];
  return names.map((name) => `${tokens[name]},${USERS[name].user},${name},"${USERS[name].group}"\n`).join("");
}
