/** @module */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { makeCertificate, renderTokens } from "../../../dev/cluster/certificates.ts";

const authority = await makeCertificate({ commonName: "authority", use: "authority" });

test("makeCertificate() makes an authority that signs itself", () => {
  const certificate = new X509Certificate(authority.certificate);
  expect(certificate.ca).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
});

test("makeCertificate() makes a server certificate for names and addresses, signed by its issuer", async () => {
  const request = { commonName: "server", use: "server" as const, dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
  const made = await makeCertificate(request, authority);
  const certificate = new X509Certificate(made.certificate);
  const issuer = new X509Certificate(authority.certificate);
  expect(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)).toBe(true);
  expect(certificate.checkHost("localhost")).toBe("localhost");
  expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(certificate.checkIP("127.0.0.2")).toBeUndefined();
  expect(certificate.checkPrivateKey(createPrivateKey(made.key))).toBe(true);
  expect([certificate.ca, certificate.keyUsage]).toEqual([false, ["1.3.6.1.5.5.7.3.1"]]);
  expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now());
});

test("makeCertificate() makes a client certificate whose organization is the group", async () => {
  const request = { commonName: "client", organization: "system:masters", use: "client" as const };
  const certificate = new X509Certificate((await makeCertificate(request, authority)).certificate);
  expect(certificate.subject).toBe("CN=client\nO=system:masters");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("renderTokens() gives each user its line, and only those that need it every right", () => {
  const tokens = {
    "admin": "a",
    "controller-manager": "m",
    "scheduler": "s",
    "kwok": "k",
    "kubelet": "n",
    "kube-proxy": "p",
    "coredns": "d",
  };
  const lines = renderTokens(tokens).trimEnd().split("\n");
  expect(lines).toContain('a,hookbox-admin,admin,"system:masters"');
  expect(lines).toContain('n,system:node:real-0,kubelet,"system:nodes"');
  expect(lines.find((line) => line.startsWith("s,"))).not.toContain("system:masters");
  expect(lines).toHaveLength(7);
});
