/** The router as a process with its real flags: who is let in by each way there is, its side ports, and its end. @module */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { WebSocketServer } from "ws";
import type { ApiRequest } from "../../kube/api.ts";
import { signToken } from "../../router/access/scopedtoken.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import { serveApi } from "../kube/servedapi.ts";
import { type MainProcess, startMain } from "../mainprocess.ts";
import { makeCertificate } from "../router/certificate.ts";
import { fetchFrom, open } from "../router/client.ts";
import { putReady, putSandbox, SANDBOXES, startBackend, textOf, until } from "../router/stage.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { all, answers, type Asked, bearer, named, overHttp2, OWN_WAYS, statusOf, WAYS } from "./routerways.ts";

const ROUTING = [
  "--path-routing-prefix",
  "/s",
  "--domain",
  "d.example",
  "--allow-loopback-pod-ip",
  "--h2c",
  "--wake-timeout",
  "100ms",
];
const SECRET = "0123456789abcdef0123456789abcdef";
const COOKIE = ["--authz-cookie-name", "pass", "--authz-cookie-query-param", "t", "--authz-cookie-insecure"];

/** Puts `demo` of team-a, and one of the same name in team-b without a Pod: two Pods have two addresses. */
function putBoth(api: FakeApi): void {
  putReady(api);
  const text = JSON.stringify(api.get(`${SANDBOXES}/demo`)).replaceAll("team-a", "team-b").replaceAll(
    "uid-demo",
    "uid-other",
  );
  api.put(`${SANDBOXES}/demo`.replace("team-a", "team-b"), JSON.parse(text));
}

/** Knows Ann, who may connect to demo of team-a, and Bob, who may to that of team-b. */
function review({ path, body }: ApiRequest) {
  if (!path.endsWith("reviews")) return undefined;
  const { spec } = body as { spec: { token?: string; user?: string; resourceAttributes?: Record<string, string> } };
  const of = { ann: "team-a", bob: "team-b" } as Record<string, string>;
  const known = of[spec.token ?? ""] !== undefined;
  const status = path.endsWith("/tokenreviews")
    ? { authenticated: known, user: known ? { username: spec.token } : {} }
    : {
      allowed: spec.resourceAttributes?.["name"] === "demo" &&
        of[spec.user ?? ""] === spec.resourceAttributes["namespace"],
    };
  return { status: 201, body: { status } };
}

/** Plays both sandboxes; `seen` grows with what reaches them. */
async function startSandboxes() {
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

/** Starts router/main.ts; the ports are those that it says it serves. */
async function start(kubeconfig: string, ...flags: string[]): Promise<MainProcess & { port: number; tlsPort: number }> {
  const args = ["router/main.ts", "--kubeconfig", kubeconfig, "--port", "0", ...flags];
  const router = await startMain("node", args, "Serving");
  if (flags.includes("--https-bind-address")) await until(() => router.said("Serving with TLS").length > 0);
  const [port, tlsPort] = [router.said("Serving"), router.said("Serving with TLS")].map(([line]) =>
    Number(line?.["port"])
  );
  return { ...router, port: port!, tlsPort: tlsPort! };
}

describe("router/main.ts", () => {
  test("asks the API server unless told otherwise, for each namespace anew, in whatever way a request comes", async () => {
    const { api, kubeconfig } = await serveApi();
    putBoth(api);
    api.intercept = review;
    const { port } = await start(kubeconfig, ...ROUTING, ...COOKIE);
    const { port: backend, seen } = await startSandboxes();
    const ways = { ...WAYS, ...OWN_WAYS };
    const ask = (namespace: string, token: string | undefined) => answers(ways, { port, backend, namespace, token });
    expect(await ask("team-a", "ann")).toEqual(all(ways, 200));
    expect(seen).toHaveLength(Object.keys(WAYS).length);
    expect(seen.filter(({ headers, url }) => /ann/.test(JSON.stringify([headers, url])))).toEqual([]);
    expect(await ask("team-b", "ann"), "whose token is known to be good for team-a").toEqual(all(ways, 403));
    expect(await ask("team-a", "bob")).toEqual(all(ways, 403));
    for (const token of [undefined, "eve", "ann2"]) expect(await ask("team-a", token)).toEqual(all(ways, 401));
    expect(await ask("nowhere", "ann"), "who may not is told of nothing").toEqual(all(ways, 403));
    expect(seen).toHaveLength(Object.keys(WAYS).length);
  });

  test("has probes and metrics on ports of their own, where nobody reaches a sandbox", async () => {
    const { api, kubeconfig } = await serveApi();
    putBoth(api);
    api.intercept = review;
    const [health = 0, metrics = 0] = await freePorts(2);
    const side = ["--health-probe-bind-address", `:${health}`, "--metrics-bind-address", `:${metrics}`];
    const { port, said } = await start(kubeconfig, ...ROUTING, ...side);
    const { port: backend, seen } = await startSandboxes();

    const asked = { port, backend, namespace: "team-a", token: "ann" };
    const statuses = async (port: number, headers = {}) =>
      await Promise.all(["/healthz", "/readyz", "/metrics", "/x"].map((path) => statusOf(port, path, headers)));
    expect(await statuses(health)).toEqual([200, 200, 404, 404]);
    expect(await statuses(metrics)).toEqual([200, 200, 200, 404]);
    expect(await statuses(port), "that name no sandbox").toEqual([200, 400, 400, 400]);
    expect([await statuses(health, named(asked)), await statuses(metrics, named(asked))]).toEqual([
      [200, 200, 404, 404],
      [200, 200, 200, 404],
    ]);
    expect(seen).toEqual([]);
    expect(await statuses(port, named(asked))).toEqual([200, 200, 200, 200]);
    expect(seen.map(({ url }) => url).sort()).toEqual(["/healthz", "/metrics", "/readyz", "/x"]);
    expect((await fetchFrom(metrics, { path: "/metrics" })).text).toMatch(/sandbox_namespace="team-a".*\} [1-9]/);
    const hosts = [...said("Listening"), ...said("Serving")].map(({ host }) => host);
    expect(hosts, "of a router with --kubeconfig").toEqual(["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
  });

  test("with scoped tokens lets in by TLS, too, for this sandbox and port alone; its limits are those of its flags", async () => {
    const { api, kubeconfig } = await serveApi();
    putBoth(api);
    putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
    const folder = makeTempFolder();
    const [secret, cert, key] = ["secret", "cert", "key"].map((name) => join(folder, name)) as [string, string, string];
    const certificate = makeCertificate();
    writeFileSync(secret, `${SECRET}\n`);
    writeFileSync(cert, certificate.cert);
    writeFileSync(key, certificate.key);
    const { port: backend, seen } = await startSandboxes();
    const flags = ["router/token.ts", "--secret-file", secret, "--name", "demo", "--namespace", "team-a"];
    const signing = await startMain("node", flags, undefined);
    expect(await signing.ended).toBe(0);
    const right = signing.output().trim();
    const now = Math.floor(Date.now() / 1000);
    const claims = { ns: "team-a", name: "demo", exp: now + 600 };
    const sign = (over: object) => signToken(Buffer.from(SECRET), { ...claims, ...over });
    const [other, otherPort, late] = [sign({ ns: "team-b" }), sign({ port: 1 }), sign({ exp: now - 1 })];
    const [limits, off] = [
      ["--max-request-body-bytes", "10", "--client-max-concurrent", "2"],
      ["--no-wake", "--no-terminal-page", "--no-access-log", "--no-trace-context"],
    ];
    const tls = ["--https-bind-address", ":0", "--tls-cert-file", cert, "--tls-key-file", key];
    const scoped = ["--authz-mode", "scoped-token", "--authz-scoped-token-secret-file", secret];
    const router = await start(kubeconfig, ...ROUTING, ...scoped, ...tls, ...limits, ...off);
    const asked = { port: router.port, backend, namespace: "team-a", token: right };
    const overTLS = (asked: Asked) => overHttp2(`https://127.0.0.1:${router.tlsPort}`, named(asked));
    const verdicts = [[right, 200], [other, 403], [otherPort, 403], [late, 401], ["x", 401], [undefined, 401]] as const;
    for (const [token, status] of verdicts) {
      const ask = { ...asked, token };
      const statuses = [await statusOf(asked.port, "/x", named(ask)), await overTLS(ask)];
      expect([token, statuses]).toEqual([token, [status, status]]);
    }
    const wanted = { ...named(asked), "X-Sandbox-ID": "asleep", ...bearer(sign({ name: "asleep" })) };
    expect(await statusOf(asked.port, "/x", wanted), "which --no-wake leaves asleep").toBe(503);
    expect(api.requests.filter(({ method }) => method !== "GET")).toEqual([]);
    expect(await statusOf(asked.port, "/x", named(asked), "POST", "x".repeat(11))).toBe(413);
    expect(await statusOf(asked.port, "/x", named(asked), "POST", "x".repeat(10))).toBe(200);
    expect(seen.map(({ headers }) => headers["traceparent"]).filter(Boolean)).toEqual([]);
    const hold = () => open(asked.port, { path: "/hold", headers: named(asked) });
    const held = [await hold(), await hold()];
    expect(await statusOf(asked.port, "/x", named(asked))).toBe(429);
    for (const one of held) one.on("error", () => {}).destroy();
    expect(await router.stop()).toBe(0);
    expect(router.output()).toBe("");
  });

  test("is ready once it has seen all; SIGTERM turns that off, takes nothing new and ends what runs first", async () => {
    const { api, kubeconfig } = await serveApi();
    putReady(api);
    const listed = Promise.withResolvers<undefined>();
    api.intercept = ({ path }) => path.endsWith("/pods") ? listed.promise : undefined;
    const backend = await startBackend((_, answer) => {
      answer.write("begun ");
      finish = () => answer.end("done");
    });
    let finish = () => {};
    const [port = 0, side = 0] = await freePorts(2);
    const flags = [
      "--kubeconfig",
      kubeconfig,
      "--port",
      `${port}`,
      "--authz-mode",
      "allow-all",
      "--allow-loopback-pod-ip",
    ];
    const both = ["--health-probe-bind-address", `:${side}`, "--metrics-bind-address", `:${side}`];
    const router = await startMain("node", ["router/main.ts", ...flags, ...both], "Listening");
    expect(await statusOf(side, "/readyz", {})).toBe(503);
    await expect(statusOf(port, "/healthz", {})).rejects.toThrow("ECONNREFUSED");
    listed.resolve(undefined);
    await until(() => router.said("Serving").length > 0);
    expect([await statusOf(side, "/readyz", {}), await statusOf(side, "/metrics", {})]).toEqual([200, 200]);
    const asked = { port, backend: backend.port, namespace: "team-a", token: undefined };
    const running = await open(port, { path: "/x", headers: named(asked) });
    const stopped = router.stop();
    await vi.waitUntil(async () => await statusOf(side, "/readyz", {}) === 503);
    await expect.poll(() => statusOf(port, "/healthz", {}).catch(({ code }) => code)).toBe("ECONNREFUSED");
    finish();
    expect(await textOf(running)).toBe("begun done");
    expect(await stopped).toBe(0);
  });
});
