/** A router in front of a sandbox of an E2B client, whose ports echo what reaches them. @module */
import { Buffer } from "node:buffer";
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { sandboxID, tokenOf, type Traits } from "../../packages/api/e2b/identity.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { fetchFrom } from "./client.ts";
import { putPod, putSandbox, startRouter } from "./stage.ts";

/** The secret of the router. */
export const SECRET = Buffer.from("0123456789abcdef0123456789abcdef");
/** The domain of the router. */
export const DOMAIN = "d.example";

/** Starts a router and a sandbox of an E2B client with servers on its ports, and returns how to reach them. */
export async function startE2BRouter({ traits = {}, ports = [49_983, 49_999, 3000], owner = {}, authz = "allow-all" }: {
  traits?: Partial<Traits>;
  ports?: number[];
  owner?: object;
  authz?: "allow-all" | "tokenreview";
} = {}) {
  const secretFile = join(makeTempFolder(), "secret");
  writeFileSync(secretFile, SECRET);
  const id = sandboxID(SECRET, "team-a", { isPublic: true, autoResume: false, ...traits }, Buffer.alloc(16, 7));
  const api = createFakeApi();
  // An address of loopback that no other test has, as the ports are always the same.
  const ip = `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`;
  const claim = {
    ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: id, uid: "uid-claim" },
    controller: true,
  };
  const put = (spec: object = {}, over: object = owner, status: object = {}) =>
    putSandbox(api, "pool-1", { metadata: { ownerReferences: [{ ...claim, ...over }] }, spec, status });
  putPod(api, "pool-1", { status: { podIPs: [{ ip }] } });
  put();
  for (const port of ports) {
    const server = createServer((request, answer) => {
      answer.setHeader("Content-Type", "application/json");
      if (request.url === "/stream") return void answer.write("begun");
      answer.end(JSON.stringify({ port, url: request.url, headers: request.headers }));
    });
    await new Promise<void>((resolve) => server.listen(port, ip, resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  const mode = authz === "allow-all" ? { mode: authz } as const : {
    ...{ mode: "tokenreview", authzKind: "sandboxes", cacheTTL: 0, allowedAudiences: [] },
  } as never;
  const { port } = await startRouter(api, { e2bSecretFile: secretFile, domain: DOMAIN, authz: mode });
  const identity = { namespace: "team-a", id, uid: "uid-claim" };
  const access = tokenOf(SECRET, "access", identity);
  const traffic = tokenOf(SECRET, "traffic", identity);
  const ask = async (target: number | string, path: string, headers: Record<string, string> = {}, method = "GET") => {
    const naming: Record<string, string> = typeof target === "string"
      ? { Host: target }
      : { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": String(target) };
    const { status, text } = await fetchFrom(port, { path, method, headers: { ...naming, ...headers } });
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  };
  return { api, id, port, access, traffic, ask, put };
}
