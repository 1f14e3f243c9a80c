/** Creates the cluster's certificate authority, certificates and keys in memory. @module */
import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import forge from "node-forge";

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
export function makeKeys(): Promise<{ publicKey: string; privateKey: string }> {
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
