/** Requests of others go out with their token, and with neither our token nor our certificate. @module */
import { Buffer } from "node:buffer";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../dev/cluster/certificates.ts";
import { createAPIProxy } from "../../packages/kube/apiproxy.ts";

test("a request is made as the given user, not as ourselves", async () => {
  const ca = await makeCertificate({ commonName: "ca", use: "authority" });
  const serving = await makeCertificate({ commonName: "api", use: "server", ipAddresses: ["127.0.0.1"] }, ca);
  const us = await makeCertificate({ commonName: "us", organization: "system:masters", use: "client" }, ca);
  const seen: unknown[] = [];
  const options = { cert: serving.certificate, key: serving.key, ca: ca.certificate };
  const server = createServer(
    { ...options, requestCert: true, rejectUnauthorized: false },
    async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const { authorization, "content-type": type } = request.headers;
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      seen.push({ method: request.method, url: request.url, authorization, type, text, peer });
      response.writeHead(201).end("done");
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const pass = {
    headers: { Authorization: "Bearer ours" },
    tls: { ca: Buffer.from(ca.certificate), cert: Buffer.from(us.certificate), key: Buffer.from(us.key) },
  };
  const proxy = createAPIProxy({
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    namespace: undefined,
    current: () => Promise.resolve(pass),
  }, "test");
  const answer = await proxy({
    method: "POST",
    path: "/apis/x?dryRun=All",
    token: "theirs",
    body: { text: "{}", type: "application/json" },
    signal: AbortSignal.timeout(10_000),
  });
  expect([answer.status, await answer.text()]).toEqual([201, "done"]);
  expect(seen).toEqual([{
    method: "POST",
    url: "/apis/x?dryRun=All",
    authorization: "Bearer theirs",
    type: "application/json",
    text: "{}",
    peer: {},
  }]);
});
