/** packages/router/main.ts as a process, and what it stands between. @module */
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { WebSocketServer } from "ws";
import type { FakeApi } from "../kube/fakeapi.ts";
import { type MainProcess, startMain } from "../mainprocess.ts";
import { makeCertificate } from "../router/certificate.ts";
import { until } from "../eventually.ts";
import { putReady, SANDBOXES, startBackend } from "../router/stage.ts";
import { makeTempFolder } from "../tempfolder.ts";

/** Every way to name a sandbox, and Pods on loopback. What has no Pod is not waited for. */
export const ROUTING = "--path-routing-prefix /s --domain d.example --allow-loopback-pod-ip --h2c --wake-timeout 100ms"
  .split(" ");

/** Puts `demo` of team-a, and one of the same name in team-b without a Pod: two Pods have two addresses. */
export function putBoth(api: FakeApi): void {
  putReady(api);
  const text = JSON.stringify(api.get(`${SANDBOXES}/demo`)).replaceAll("team-a", "team-b").replaceAll(
    "uid-demo",
    "uid-other",
  );
  api.put(`${SANDBOXES}/demo`.replace("team-a", "team-b"), JSON.parse(text));
}

/** Plays both sandboxes; `seen` grows with what reaches them. */
export async function startSandboxes() {
  const seen: IncomingMessage[] = [];
  const { port, server } = await startBackend((incoming, answer) => {
    seen.push(incoming);
    if (incoming.url === "/hold") return void answer.write("held");
    incoming.resume().once("end", () => answer.end("in"));
  });
  new WebSocketServer({ server }).on("connection", (socket, incoming) => {
    seen.push(incoming);
    socket.close();
  });
  return { port, seen };
}

/** Makes a certificate; returns the flags with which a router speaks TLS on a free port. */
export function tlsFlags(): string[] {
  const folder = makeTempFolder();
  const { cert, key } = makeCertificate();
  const [certFile, keyFile] = [join(folder, "cert"), join(folder, "key")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return ["--https-bind-address", ":0", "--tls-cert-file", certFile, "--tls-key-file", keyFile];
}

/** Starts packages/router/main.ts; the ports are those that it says it serves. */
export async function startRouterMain(
  kubeconfig: string,
  ...flags: string[]
): Promise<MainProcess & { port: number; tlsPort: number }> {
  const args = ["packages/router/main.ts", "--kubeconfig", kubeconfig, "--port", "0", ...flags];
  const router = await startMain("node", args, "Serving");
  if (flags.includes("--https-bind-address")) await until(() => router.said("Serving with TLS").length > 0);
  const [port, tlsPort] = [router.said("Serving"), router.said("Serving with TLS")].map(([line]) =>
    Number(line?.["port"])
  );
  return { ...router, port: port!, tlsPort: tlsPort! };
}
