/** Spans of the assembled processes, with their real flags, of a client that traces and of one that does not. @module */
import { expect, test } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { inTrace, SPAN, startCollector, TRACE } from "../collector.ts";
import { until } from "../eventually.ts";
import { startMain } from "../mainprocess.ts";
import { aClaim, STATUS } from "../pools.ts";
import { ASSIGNED_AT_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { fetchFrom } from "../router/client.ts";
import { aReadyPod, aRequest, aSandbox } from "../sandboxes.ts";
import { CLAIM } from "../keeper/extensions.ts";
import { aBoundClaim, aClaimsSandbox, aWaitingClaim } from "../keeper/bound.ts";
import { SANDBOX } from "../keeper/keeping.ts";
import { serveApi } from "../kube/servedapi.ts";
import { serveCluster, start } from "./binder-world.ts";
import { putBoth, ROUTING, startRouterMain, startSandboxes } from "./routerprocess.ts";
import { named } from "./routerways.ts";

const ofTrace = { traceId: TRACE, parentSpanId: SPAN };
const COLD = { env: [{ name: "A", value: "1" }] };

test("a binder says what it did for a claim whose client traces, and names the trace in metrics and log", async () => {
  const { url, spans } = await startCollector();
  const { world, kubeconfig, put, find, sandboxOf } = await serveCluster();
  let refused = 0;
  // Which of two that are asked for at once comes first is a race.
  const isCold = (body: unknown) => (body as KubeObject).metadata.name === "cold";
  world.fault = ({ method, path, body }) =>
    method === "POST" && path.endsWith("/sandboxes") && isCold(body) && refused++ === 0
      ? { status: 500, body: { message: "no disk" } }
      : undefined;
  await put(aClaim("traced", { metadata: { annotations: inTrace() } }));
  for (const name of ["cold", "slow"]) await put(aClaim(name, { metadata: { annotations: inTrace() }, spec: COLD }));
  await put(aClaim("quiet"), aClaim("unrecorded", { metadata: { annotations: inTrace(false) } }));
  const binder = await start(kubeconfig, "--otlp-endpoint", url);
  await until(() => ["traced", "quiet", "unrecorded"].every(sandboxOf));
  const made = (name: string) => find("agents.x-k8s.io/v1beta1", "Sandbox", name);
  await until(() => made("cold") !== undefined && made("slow") !== undefined);
  await put({ ...made("cold"), status: STATUS.ready });
  await until(() => sandboxOf("cold") !== undefined);
  const { metadata, ...slow } = made("slow")!;
  const aMinuteAgo = new Date(Date.now() - 60_000).toISOString();
  const annotations = { ...metadata.annotations, [ASSIGNED_AT_ANNOTATION]: aMinuteAgo };
  await put({ ...slow, metadata: { ...metadata, annotations }, status: STATUS.ready });
  // They come in several requests at once.
  const of = (claim: string) =>
    spans.filter(({ attributes }) => attributes["hookbox.claim.name"] === claim).sort((a, b) => a.start - b.start);
  await until(() => of("slow").some(({ name }) => name === "hookbox.start_sandbox"));
  await until(() => of("slow").some(({ name }) => name === "hookbox.write_claim_status"));
  const metrics = await binder.get("/metrics");
  expect(metrics).toMatch(
    new RegExp(`^hookbox_binder_claim_seconds_bucket.*launch_type="warm".* # {trace_id="${TRACE}"}`, "m"),
  );
  expect(metrics).toMatch(/# EOF\s*$/);
  const failed = binder.said("Cannot serve a claim");
  expect(await binder.stop()).toBe(0);
  expect(failed).toMatchObject([{ name: "cold", trace_id: TRACE }]);
  expect(of("traced").map(({ name }) => name)).toEqual([
    "hookbox.bind",
    "hookbox.write_claim_status",
  ]);
  const [bind] = of("traced");
  expect(bind).toMatchObject({
    ...{ ...ofTrace, service: "hookbox-binder", events: [{ name: "chosen" }] },
    attributes: { "sandbox.name": sandboxOf("traced"), "hookbox.launch_type": "warm", "k8s.namespace.name": "team-a" },
  });
  expect(of("cold")).toMatchObject([
    { name: "hookbox.bind", code: 2 },
    { name: "hookbox.bind", code: 0 },
    { name: "hookbox.start_sandbox" },
    { name: "hookbox.write_claim_status" },
  ]);
  expect([...of("quiet"), ...of("unrecorded")]).toEqual([]);
});

test("a keeper names the trace of a claim with the time until it was Ready", async () => {
  const { url } = await startCollector();
  const { api, kubeconfig } = await serveApi();
  const [port = 0] = await freePorts(1);
  const flags = ["--namespace", "system", "--no-binder", "--port", `${port}`, "--otlp-endpoint", url];
  const keeper = await startMain("node", ["packages/keeper/main.ts", "--kubeconfig", kubeconfig, ...flags], "Starting");
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const metrics = async () => await (await get("/metrics")).text();
  const observed = { "agents.x-k8s.io/controller-first-observed-at": "2026-11-21T12:00:00.100Z" };
  api.put(CLAIM, { ...aWaitingClaim() });
  api.put(SANDBOX.replace(/demo$/, "pool-1"), { ...aClaimsSandbox() });
  // Before it leads it is ready, too; once it does, when it has seen all that there is.
  await until(async () => (await metrics()).includes("hookbox_keeper_leading 1\n") && (await get("/readyz")).ok);
  api.put(CLAIM, {
    ...aBoundClaim({ readyAt: "2026-11-21T12:00:00.300Z", annotations: { ...observed, ...inTrace() } }),
  });
  const name = "hookbox_claim_controller_startup_seconds_bucket";
  await until(async () => (await metrics()).includes(name));
  expect(await metrics()).toMatch(new RegExp(`^${name}{le="0.25".* # {trace_id="${TRACE}"} 0.2 `, "m"));
  expect(await metrics()).toMatch(/# EOF\s*$/);
  expect(await keeper.stop()).toBe(0);
});

test("a router names the trace of a request with its duration", async () => {
  const { url } = await startCollector();
  const { api, kubeconfig } = await serveApi();
  putBoth(api);
  const { port: backend } = await startSandboxes();
  const [side = 0] = await freePorts(1);
  const flags = ["--authz-mode", "allow-all", "--metrics-bind-address", `127.0.0.1:${side}`, "--otlp-endpoint", url];
  const { port, stop } = await startRouterMain(kubeconfig, ...ROUTING, ...flags);
  const ask = async (sampled: "01" | "00") => {
    const headers = named({ port, backend, namespace: "team-a", token: undefined });
    await fetchFrom(port, { path: "/x", headers: { ...headers, traceparent: `00-${TRACE}-${SPAN}-${sampled}` } });
    return (await fetchFrom(side, { path: "/metrics" })).text;
  };
  expect(await ask("00")).not.toContain("trace_id");
  const metrics = await ask("01");
  expect(metrics).toMatch(
    new RegExp(`^sandbox_router_request_duration_seconds_bucket{.*} \\d # {trace_id="${TRACE}"} `, "m"),
  );
  expect(metrics).toMatch(/# EOF\s*$/);
  expect(await stop()).toBe(0);
});

test("without a collector a binder's metrics are of the format that everybody reads", async () => {
  const { kubeconfig, put, sandboxOf } = await serveCluster();
  await put(aClaim("traced", { metadata: { annotations: inTrace() } }));
  const binder = await start(kubeconfig);
  await until(() => sandboxOf("traced") !== undefined);
  expect(await binder.get("/metrics")).not.toMatch(/trace_id|# EOF/);
});

test.for(["node", "deno"] as const)(
  "a hook on %s says what it answered until the Sandbox is Ready",
  async (runtime) => {
    const { url, port: collector, spans } = await startCollector();
    const [port = 0] = await freePorts(1);
    const leave = ["run", "--no-prompt", "--cached-only", `--allow-net=127.0.0.1:${port},127.0.0.1:${collector}`];
    const flags = ["--host", "127.0.0.1", "--port", `${port}`, "--otlp-endpoint", url];
    const args = [...runtime === "deno" ? leave : [], "hooks/sandbox/main.ts", ...flags];
    const { stop } = await startMain(runtime, args, "Listening");
    const ask = async (sandbox: Parameters<typeof aSandbox>[0], pods: Parameters<typeof aRequest>[1] = []) => {
      const body = JSON.stringify(aRequest(aSandbox(sandbox), pods));
      const answer = await fetch(`http://127.0.0.1:${port}/sync`, { method: "POST", body });
      return await answer.json() as { status: Record<string, unknown> };
    };
    const metadata = { generation: 1, annotations: inTrace() };
    await ask({ metadata });
    const { status } = await ask({ metadata }, [aReadyPod()]);
    await ask({ metadata, status: status as never }, [aReadyPod()]);
    await ask({ metadata: { ...metadata, annotations: {} } });
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain(`# {trace_id="${TRACE}"}`);
    expect(await stop()).toBe(0);
    const common = { ...ofTrace, service: "hookbox-sandbox", name: "sandbox/sync" };
    const parent = { "hookbox.parent": "Sandbox/demo", "http.response.status_code": 200 };
    expect(spans.map(({ attributes }) => attributes["hookbox.ready"])).toEqual(["False", "True"]);
    const children = (count: number) => ({ "hookbox.children.observed": count, "hookbox.children.desired": 1 });
    expect(spans).toMatchObject([
      { ...common, attributes: { ...parent, ...children(0) } },
      { ...common, attributes: { ...parent, ...children(1) } },
    ]);
  },
);
