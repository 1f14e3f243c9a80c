/** A Gateway and its HTTPRoute, with the CRDs of the Gateway API. A proxy on this machine does what the route says. @module */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { moduleFolder } from "../../dev/cluster/modules.ts";
import { run } from "../integration/kubectl.ts";
import type { Stage } from "./stage.ts";

const MODULE = "sigs.k8s.io/gateway-api@v1.6.3";
/** Clients use port 80 of the Gateway's address. On Linux, each address of 127.0.0.0/8 is this machine. */
const ADDRESS = "127.0.0.80";

/** The name of the Gateway and of its HTTPRoute. */
export const GATEWAY = "sandboxes";

const started = new WeakMap<Stage, Promise<void>>();

/** Makes the Gateway, once for a stage. */
export function provideGateway(stage: Stage): Promise<void> {
  const starting = started.get(stage) ?? start(stage);
  started.set(stage, starting);
  return starting;
}

async function start({ cluster, ns, router, token, atEnd }: Stage): Promise<void> {
  const folder = await moduleFolder(MODULE);
  for (const plural of ["gateways", "httproutes"]) {
    const crd = readFileSync(join(folder, `config/crd/standard/gateway.networking.k8s.io_${plural}.yaml`), "utf8");
    await run(cluster, ["apply", "--server-side", "-f", "-"], crd);
    await run(cluster, ["wait", "--for=condition=Established", `crd/${plural}.gateway.networking.k8s.io`]);
  }
  const apiVersion = "gateway.networking.k8s.io/v1";
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  // The client sends no token, so the Gateway adds one.
  const set = [{ name: "Authorization", value: `Bearer ${token}` }];
  const filters = [{ type: "RequestHeaderModifier", requestHeaderModifier: { set } }];
  const backendRefs = [{ name: "sandbox-router-svc", namespace: "agent-sandbox-system", port: 8080 }];
  const parentRefs = [{ name: GATEWAY }];
  await ns.apply(
    { apiVersion, kind: "Gateway", metadata: { name: GATEWAY }, spec: { gatewayClassName: "proxy", listeners } },
    {
      apiVersion,
      kind: "HTTPRoute",
      metadata: { name: GATEWAY },
      spec: { parentRefs, rules: [{ filters, backendRefs }] },
    },
  );
  const { spec: { rules: [rule] } } = JSON.parse(await ns.kubectl("get", "httproute", GATEWAY, "-o", "json"));
  const added = rule.filters[0].requestHeaderModifier.set.map(({ name, value }: (typeof set)[number]) => [name, value]);
  const server = createServer((incoming, response) => {
    const headers = { ...incoming.headers, ...Object.fromEntries(added) };
    const outgoing = request(`${router}${incoming.url}`, { method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.once("error", (error) => response.destroy(error));
    incoming.pipe(outgoing);
  });
  server.listen(80, ADDRESS);
  await once(server, "listening");
  atEnd(() => Promise.resolve(void server.close()));
  const status = { addresses: [{ type: "IPAddress", value: ADDRESS }] };
  await ns.kubectl(
    "patch",
    "gateway",
    GATEWAY,
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify({ status }),
  );
}
