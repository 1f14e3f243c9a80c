/** A certificate that nobody else trusts, for `localhost`. @module */
import { Buffer } from "node:buffer";
import forge from "node-forge";
import type { Certificate } from "../../packages/router/server.ts";

/** Makes one with its key, good for an hour. */
export function makeCertificate(): Certificate {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const cert = forge.pki.createCertificate();
  cert.publicKey = keys.publicKey;
  cert.validity.notBefore = new Date(Date.now() - 1000);
  cert.validity.notAfter = new Date(Date.now() + 3_600_000);
  cert.setSubject([{ name: "commonName", value: "localhost" }]);
  cert.setIssuer([{ name: "commonName", value: "localhost" }]);
  cert.sign(keys.privateKey, forge.md.sha256.create());
  return {
    cert: Buffer.from(forge.pki.certificateToPem(cert)),
    key: Buffer.from(forge.pki.privateKeyToPem(keys.privateKey)),
  };
}

/** Makes a certificate for all hosts of a domain, with its key and the authority that signed it, good for an hour. */
export function makeWildcard(domain: string): Certificate & { ca: string } {
  const authority = forge.pki.rsa.generateKeyPair(2048);
  const certificate = (name: string, key: forge.pki.PublicKey, extensions: object[]) => {
    const cert = forge.pki.createCertificate();
    cert.publicKey = key;
    cert.serialNumber = Buffer.from(name).toString("hex").slice(0, 16);
    cert.validity.notBefore = new Date(Date.now() - 60_000);
    cert.validity.notAfter = new Date(Date.now() + 3_600_000);
    cert.setSubject([{ name: "commonName", value: name }]);
    cert.setIssuer([{ name: "commonName", value: "hookbox test" }]);
    cert.setExtensions(extensions);
    cert.sign(authority.privateKey, forge.md.sha256.create());
    return forge.pki.certificateToPem(cert);
  };
  const own = forge.pki.rsa.generateKeyPair(2048);
  const names = [{ type: 2, value: `*.${domain}` }];
  return {
    ca: certificate("hookbox test", authority.publicKey, [{ name: "basicConstraints", cA: true, critical: true }, {
      ...{ name: "keyUsage", keyCertSign: true, critical: true },
    }]),
    cert: Buffer.from(certificate(`*.${domain}`, own.publicKey, [{ name: "subjectAltName", altNames: names }, {
      ...{ name: "extKeyUsage", serverAuth: true },
    }])),
    key: Buffer.from(forge.pki.privateKeyToPem(own.privateKey)),
  };
}
