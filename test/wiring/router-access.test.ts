/** The router as a process with its real flags: who is let in, by each way there is, on each of its ports. @module */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { signToken } from "../../packages/api/router/scopedtoken.ts";
import { createConnection } from "../../packages/dashboard/connection.ts";
import { serveApi } from "../kube/servedapi.ts";
import { startMain } from "../mainprocess.ts";
import { fetchFrom } from "../router/client.ts";
import { socketOf } from "../router/dashboard/stage.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { putBoth, ROUTING, startRouterMain, startSandboxes, tlsFlags } from "./routerprocess.ts";
import { all, answers, type Asked, named, overHttp2, OWN_WAYS, statusOf, WAYS } from "./routerways.ts";

const COOKIE = ["--authz-cookie-name", "pass", "--authz-cookie-query-param", "t", "--authz-cookie-insecure"];
const SECRET = "0123456789abcdef0123456789abcdef";

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

describe("packages/router/main.ts", () => {
  test("asks the API server unless told otherwise, for each namespace anew, in whatever way a request comes", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    api.intercept = review;
    const { port } = await startRouterMain(kubeconfig, ...ROUTING, ...COOKIE);
    const { port: backend, seen } = await startSandboxes();
    const ways = { ...WAYS, ...OWN_WAYS };
    const ask = (namespace: string, token: string | undefined) => answers(ways, { port, backend, namespace, token });
    expect(await ask("team-a", "ann")).toEqual(all(ways, 200));
    expect(seen).toHaveLength(Object.keys(WAYS).length);
    expect(seen.filter(({ headers, url }) => /ann/.test(JSON.stringify([headers, url])))).toEqual([]);
    expect(await ask("team-b", "ann"), "whose token is known to be good for team-a").toEqual(all(ways, 403));
    expect(await ask("team-a", "bob")).toEqual(all(ways, 403));
    for (const token of [undefined, "eve", "ann2"]) expect(await ask("team-a", token)).toEqual(all(ways, 401));
    expect(await ask("nowhere", "ann"), "who may not learns nothing").toEqual(all(ways, 403));
    expect(seen).toHaveLength(Object.keys(WAYS).length);
  });

  test("lets in over the dashboard's WebSocket whom it lets in without, and no page of another origin", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    api.intercept = review;
    const { port } = await startRouterMain(kubeconfig, "--allow-loopback-pod-ip", "--wake-timeout", "100ms");
    const { port: backend, seen } = await startSandboxes();
    const origin = `http://127.0.0.1:${port}`;
    const failed = () => Promise.reject(new Error("no WebSocket"));
    const open = (from: string) =>
      createConnection({ page: `${origin}/.hookbox/`, WebSocket: socketOf(from), fetch: failed });
    const own = open(origin);
    onTestFinished(() => own.close());
    const ask = async (namespace: string, token: string | undefined) =>
      (await own.fetch("/x", { headers: named({ port, backend, namespace, token }) })).status;
    expect(await ask("team-a", "ann")).toBe(200);
    expect(seen.map(({ url, headers }) => [url, headers.authorization, headers["x-forwarded-for"]])).toEqual([
      ["/x", undefined, "127.0.0.1"],
    ]);
    expect(await ask("team-b", "ann")).toBe(403);
    expect(await ask("team-a", "bob")).toBe(403);
    expect(await ask("nowhere", "ann")).toBe(403);
    for (const token of [undefined, "eve", "ann2"]) expect(await ask("team-a", token)).toBe(401);
    const headers = named({ port, backend, namespace: "team-a", token: "ann" });
    await expect(open("http://evil.example").fetch("/x", { headers })).rejects.toThrow("no WebSocket");
    expect(seen).toHaveLength(1);
  });

  test("takes no token that was made for somebody else, where an option says for whom", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    api.intercept = (request) => {
      const answer = review(request);
      if (!request.path.endsWith("/tokenreviews") || !answer) return answer;
      return { ...answer, body: { status: { ...answer.body.status, audiences: ["api"] } } };
    };
    const { port: backend, seen } = await startSandboxes();
    const ask = async (...flags: string[]) => {
      const { port } = await startRouterMain(kubeconfig, ...ROUTING, ...flags);
      return await statusOf(port, "/", named({ port, backend, namespace: "team-a", token: "ann" }));
    };
    expect(await ask("--authz-tokenreview-audiences", "router")).toBe(401);
    expect(seen).toEqual([]);
    expect(await ask("--authz-tokenreview-audiences", "router,api")).toBe(200);
    const reviews = api.requests.filter(({ path }) => path.endsWith("/tokenreviews"));
    expect(reviews.map(({ body }) => (body as { spec: object }).spec)).toEqual([
      { token: "ann", audiences: ["router"] },
      { token: "ann", audiences: ["router", "api"] },
    ]);
  });

  test("has probes and metrics on ports of their own, where nobody reaches a sandbox", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    api.intercept = review;
    const [health = 0, metrics = 0] = await freePorts(2);
    const side = ["--health-probe-bind-address", `:${health}`, "--metrics-bind-address", `:${metrics}`];
    const { port, said } = await startRouterMain(kubeconfig, ...ROUTING, ...side);
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

  test("with scoped tokens lets in, by TLS as well, to this sandbox and port alone", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    const secret = join(makeTempFolder(), "secret");
    writeFileSync(secret, `${SECRET}\n`);
    const flags = ["packages/cli/main.ts", "token", "demo", "-n", "team-a", "--secret-file", secret];
    const signing = await startMain("node", flags, undefined);
    expect(await signing.ended).toBe(0);
    const right = signing.output().trim();
    const now = Math.floor(Date.now() / 1000);
    const sign = (over: object) =>
      signToken(Buffer.from(SECRET), { ns: "team-a", name: "demo", exp: now + 600, ...over });
    const [other, otherPort, late] = await Promise.all([
      sign({ ns: "team-b" }),
      sign({ port: 1 }),
      sign({ exp: now - 1 }),
    ]);
    const scoped = ["--authz-mode", "scoped-token", "--authz-scoped-token-secret-file", secret];
    const router = await startRouterMain(kubeconfig, ...ROUTING, ...scoped, ...tlsFlags());
    const { port: backend, seen } = await startSandboxes();
    const overTLS = (asked: Asked) => overHttp2(`https://127.0.0.1:${router.tlsPort}`, named(asked));
    const verdicts = [[right, 200], [other, 403], [otherPort, 403], [late, 401], ["x", 401], [undefined, 401]] as const;
    for (const [token, status] of verdicts) {
      const asked = { port: router.port, backend, namespace: "team-a", token };
      expect([token, await statusOf(asked.port, "/x", named(asked)), await overTLS(asked)]).toEqual([
        token,
        status,
        status,
      ]);
    }
    expect(seen).toHaveLength(2);
  });

  test("without --allow-loopback-pod-ip reaches nothing on its own machine, whatever a Pod says of its address", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    const router = await startRouterMain(kubeconfig, "--authz-mode", "allow-all", "--wake-timeout", "100ms");
    const { port: backend, seen } = await startSandboxes();
    const headers = named({ port: router.port, backend, namespace: "team-a", token: undefined });
    expect(await statusOf(router.port, "/x", headers)).toBeGreaterThanOrEqual(500);
    expect(await statusOf(router.port, "/x", { ...headers, "X-Sandbox-Pod-IP": "127.0.0.1" })).toBe(400);
    expect(seen).toEqual([]);
  });

  test("lets no page in whose name was made to lead to it, and no host name tell what exists", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    const flags = ["--authz-mode", "allow-all", "--allowed-hosts", "dev.example"];
    const { port } = await startRouterMain(kubeconfig, ...ROUTING, ...flags);
    const { port: backend, seen } = await startSandboxes();
    const asked = { port, backend, namespace: "team-a", token: undefined };
    const strange = { ...named(asked), Host: "evil.example" };
    const path = `/s/team-a/demo/${backend}/x`;
    const kept = [
      await statusOf(port, "/x", strange),
      await statusOf(port, path, { Host: "evil.example:80" }),
      await statusOf(port, path, { Host: "localhost.evil.example" }, "POST", "body"),
      await statusOf(port, path, { Host: "evil.example", Authorization: "Bearer anything" }),
      await statusOf(port, path, { Host: "evil.example", Connection: "Upgrade", Upgrade: "websocket" }),
      await statusOf(port, "/x", { Host: `${backend}-demo-team-a.evil.example` }),
    ];
    expect(kept).toEqual([403, 403, 403, 403, 403, 400]);
    expect(seen).toEqual([]);
    const letIn = [
      await statusOf(port, path, { Host: "dev.example:8443" }),
      await statusOf(port, path, { Host: `localhost:${port}` }),
      await statusOf(port, "/x", { Host: `${backend}-demo-team-a.d.example` }),
      await statusOf(port, "/healthz", { Host: "any.example" }),
    ];
    expect(letIn).toEqual([200, 200, 200, 200]);
  });

  test("tells who may reach nothing nothing of what exists, by whatever host name", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    api.intercept = review;
    const { port } = await startRouterMain(kubeconfig, ...ROUTING);
    const { port: backend } = await startSandboxes();
    const ask = (host: string, token?: string) =>
      fetchFrom(port, {
        path: "/x",
        headers: { Host: `${backend}-${host}.d.example`, ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      });
    const there = await ask("demo-team-a", "bob");
    const missing = await ask("none-team-a", "bob");
    expect([there.status, missing.status]).toEqual([403, 403]);
    expect(there.text.replaceAll("demo", "none")).toBe(missing.text);
    expect([(await ask("demo-team-a")).status, (await ask("none-team-a")).status]).toEqual([401, 401]);
    expect((await ask("demo-team-a", "ann")).status).toBe(200);
  });
});
