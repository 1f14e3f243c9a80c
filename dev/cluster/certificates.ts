/** Creates the keys, certificates and tokens of a cluster, and the files from which its processes read them. @module */
import { generateKeyPair, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import forge from "node-forge";
import { REAL_NODE } from "./nodeconfig.ts";

/** A certificate and its private key, as PEM. */
export interface KeyedCertificate {
  certificate: string;
  key: string;
}

export interface CertificateRequest {
  commonName: string;
  /** Kubernetes reads this as the group of a client. */
  organization?: string;
  use: "authority" | "server" | "client";
  dnsNames?: string[];
  ipAddresses?: string[];
}

const YEARS = 10;

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
 * Creates an RSA key and a certificate for it. The certificate is valid for ten years, starting a day ago.
 *
 * @param issuer signs the certificate; absent: it is self-signed
 */
export async function makeCertificate(
  request: CertificateRequest,
  issuer?: KeyedCertificate,
): Promise<KeyedCertificate> {
  const keys = await makeKeys();
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey);
  certificate.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`;
  certificate.validity.notBefore = new Date(Date.now() - 86_400_000);
  certificate.validity.notAfter = new Date(Date.now() + YEARS * 365 * 86_400_000);
  const subject = subjectOf(request);
  certificate.setSubject(subject);
  certificate.setIssuer(issuer ? forge.pki.certificateFromPem(issuer.certificate).subject.attributes : subject);
  certificate.setExtensions(extensionsOf(request));
  certificate.sign(forge.pki.privateKeyFromPem(issuer?.key ?? keys.privateKey), forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(certificate), key: keys.privateKey };
}

/** Creates an RSA key pair, as PEM (SPKI and PKCS #8). */
function makeKeys(): Promise<{ publicKey: string; privateKey: string }> {
  return promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
}

function subjectOf(request: CertificateRequest): forge.pki.CertificateField[] {
  const subject: forge.pki.CertificateField[] = [{ name: "commonName", value: request.commonName }];
  if (request.organization) subject.push({ name: "organizationName", value: request.organization });
  return subject;
}

function extensionsOf(request: CertificateRequest): unknown[] {
  if (request.use === "authority") {
    return [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true },
    ];
  }
  const names = [
    ...(request.dnsNames ?? []).map((value) => ({ type: 2, value })),
    ...(request.ipAddresses ?? []).map((ip) => ({ type: 7, ip })),
  ];
  return [
    { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
    { name: "extKeyUsage", serverAuth: request.use === "server", clientAuth: request.use === "client" },
    ...(names.length > 0 ? [{ name: "subjectAltName", altNames: names }] : []),
  ];
}

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
