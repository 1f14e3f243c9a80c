/** The router as a process with its real flags: what they limit and turn off, when it is ready, and its end. @module */
import { describe, expect, onTestFinished, test } from "vitest";
import { request } from "node:https";
import type { IncomingMessage } from "node:http";
import { freePorts } from "../../dev/cluster/ports.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import { serveApi } from "../kube/servedapi.ts";
import { fetchFrom, open } from "../router/client.ts";
import { eventually, until } from "../eventually.ts";
import { putPod, putReady, putSandbox, SANDBOXES, startBackend, textOf } from "../router/stage.ts";
import { startMain } from "../mainprocess.ts";
import { putBoth, ROUTING, startRouterMain, startSandboxes, tlsFlags } from "./routerprocess.ts";
import { named, statusOf } from "./routerways.ts";

const OPEN = ["--authz-mode", "allow-all"];
const IDLE = ["--idle-check-interval", "100ms"];
const asked = { port: 0, namespace: "team-a", token: undefined };

/** Puts a Sandbox that nobody has used since it was made, and which asks to be suspended then. */
function putIdle(api: FakeApi): void {
  const conditions = [
    { type: "Ready", status: "True", reason: "r", message: "", lastTransitionTime: "2020-01-01T00:00:00Z" },
  ];
  const annotations = { "router.agents.x-k8s.io/idle-seconds": "60" };
  putSandbox(api, "idle", { metadata: { annotations }, status: { conditions } });
  putPod(api, "idle", { status: { podIPs: [{ ip: "127.0.0.9" }] } });
}

const modeOf = (api: FakeApi, name: string) =>
  (api.get(`${SANDBOXES}/${name}`)?.["spec"] as { operatingMode: string }).operatingMode;

/** Asks over TLS for an answer that takes its time; resolves with its head. */
function openTLS(port: number, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/x", headers, rejectUnauthorized: false, agent: false };
    const asking = request(options, resolve).on("error", reject);
    onTestFinished(() => void asking.destroy());
    asking.end();
  });
}

describe("packages/router/main.ts", () => {
  test("limits what its flags limit, and does nothing that they turn off", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putBoth(api);
    putIdle(api);
    putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
    const { port: backend, seen } = await startSandboxes();
    const limits = ["--max-request-body-bytes", "10", "--client-max-concurrent", "2", "--cache-namespace", "team-a"];
    const off = ["--no-wake", "--no-idle", "--no-terminal-page", "--no-access-log", "--no-trace-context"];
    const router = await startRouterMain(
      kubeconfig,
      ...ROUTING,
      ...OPEN,
      ...limits,
      ...off,
      ...IDLE,
      "--runtime-port",
      `${backend}`,
    );
    const headers = named({ ...asked, backend });
    const ask = (over: object, method = "GET", body?: string) =>
      statusOf(router.port, "/x", { ...headers, ...over }, method, body);
    expect(await ask({ "X-Sandbox-ID": "asleep" }), "which --no-wake leaves so").toBe(503);
    expect(await ask({ "X-Sandbox-Namespace": "team-b" }), "which it does not look into").toBe(404);
    expect([await ask({}, "POST", "x".repeat(11)), await ask({}, "POST", "x".repeat(10))]).toEqual([413, 200]);
    const page = `/s/team-a/demo/${backend}/.hookbox/terminal/`;
    expect((await fetchFrom(router.port, { path: page })).text, "the sandbox's own").toBe("in");
    expect(seen.filter(({ headers }) => headers["traceparent"] !== undefined)).toEqual([]);
    const hold = () => open(router.port, { path: "/hold", headers });
    const held = [await hold(), await hold()];
    expect(await ask({})).toBe(429);
    for (const one of held) one.on("error", () => {}).destroy();
    expect(await router.stop()).toBe(0);
    expect(router.output(), "--no-access-log").toBe("");
    expect(api.requests.filter(({ method, path }) => method !== "GET" || !path.includes("/namespaces/team-a/")))
      .toEqual([]);
  });

  test("unless told otherwise wakes what is wanted, suspends what is idle, and has a page with a terminal", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putIdle(api);
    putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
    const router = await startRouterMain(kubeconfig, ...ROUTING, ...OPEN, ...IDLE, "--runtime-port", "1");
    const headers = { ...named({ ...asked, backend: 1 }), "X-Sandbox-ID": "asleep" };
    expect(await statusOf(router.port, "/x", headers), "for it has no Pod yet").toBeGreaterThanOrEqual(500);
    expect(modeOf(api, "asleep")).toBe("Running");
    const page = await fetchFrom(router.port, { path: "/s/team-a/asleep/1/.hookbox/terminal/" });
    expect(page.text).toContain("<title>team-a/asleep");
    await until(() => modeOf(api, "idle") === "Suspended");
    expect(await router.stop()).toBe(0);
    expect(router.output()).toContain('"message":"Request"');
  });

  test("is ready once it has seen all; SIGTERM turns that off, then takes nothing new, and ends what runs first", async () => {
    const { api, kubeconfig } = await serveApi(undefined, "router");
    putReady(api);
    const listed = Promise.withResolvers<undefined>();
    api.intercept = ({ path }) => path.endsWith("/pods") ? listed.promise : undefined;
    const ends: (() => void)[] = [];
    const backend = await startBackend((_, answer) => {
      answer.write("begun ");
      ends.push(() => answer.end("done"));
    });
    const [port = 0, side = 0] = await freePorts(2);
    const sides = ["--health-probe-bind-address", `:${side}`, "--metrics-bind-address", `:${side}`];
    const flags = ["--kubeconfig", kubeconfig, "--port", `${port}`, ...OPEN, "--allow-loopback-pod-ip"];
    const args = ["packages/router/main.ts", ...flags, ...sides, ...tlsFlags(), "--shutdown-delay", "4s"];
    const router = await startMain("node", args, "Listening");
    expect(await statusOf(side, "/readyz", {})).toBe(503);
    await expect(statusOf(port, "/healthz", {})).rejects.toThrow("ECONNREFUSED");
    listed.resolve(undefined);
    await until(() => router.said("Serving with TLS").length > 0);
    expect([await statusOf(side, "/readyz", {}), await statusOf(side, "/metrics", {})]).toEqual([200, 200]);
    const headers = named({ ...asked, backend: backend.port });
    const tlsPort = Number(router.said("Serving with TLS")[0]?.["port"]);
    const running = [await open(port, { path: "/x", headers }), await openTLS(tlsPort, headers)];
    const stopped = router.stop();
    await until(async () => await statusOf(side, "/readyz", {}) === 503);
    expect(await statusOf(port, "/healthz", {}), "others have yet to hear of it").toBe(200);
    await eventually((): Promise<unknown> => statusOf(port, "/healthz", {}).catch(({ code }) => code)).toBe(
      "ECONNREFUSED",
    );
    for (const end of ends) end();
    expect(await Promise.all(running.map(textOf))).toEqual(["begun done", "begun done"]);
    expect(await stopped).toBe(0);
  });
});
