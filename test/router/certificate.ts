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
