/** Hooks put together with their real flags: the guard, stopping, and who serves what. @module */
import { readdirSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { compositeCalls, type HookCalls } from "../../packages/webhook/hook.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { DEFAULT_SETTINGS, hookNames, makeHooks } from "../../hooks/all.ts";
import { settingsOf } from "../hooksettings.ts";
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { startMain } from "../mainprocess.ts";
import { send } from "../runtime/servers.ts";
import { aChild, aReadyPod, aRequest, aSandbox } from "../sandboxes.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { until } from "../eventually.ts";
import { LOCAL, serve } from "./servedhooks.ts";

const SYNC = { body: JSON.stringify(aRequest(aSandbox(), [aReadyPod()])) };

/** A hook that wants only the given children, and names the given reasons. */
function forgetful(keeps: (child: KubeObject) => boolean, deletions: Record<string, string> = {}): HookCalls {
  return compositeCalls({
    type: "composite",
    name: "forgetful",
    parentSchema: sandboxSchema,
    deletionReasons: "any",
    childRules: "any",
    sync: ({ children }) => ({
      status: {},
      deletions,
      children: Object.values(children).flatMap((named) => Object.values(named)).filter(keeps).map((
        { kind, metadata },
      ) => ({
        apiVersion: "v1",
        kind,
        metadata: { name: metadata.name },
      })),
    }),
  });
}

const EXPIRED = { type: "Ready", status: "False", reason: "SandboxExpired", message: "" };
const pods = (count: number, prefix = "p", metadata: object = {}) =>
  Array.from({ length: count }, (_, i) => aChild("Pod", { metadata: { ...metadata, name: `${prefix}${i}` } }));
const dying = pods(30, "dying", { deletionTimestamp: "2026-11-21T12:00:00Z" });
const volume = aChild("PersistentVolumeClaim", { metadata: { name: "home" } });
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe("the guard that every hook is served behind", () => {
  test.for<
    { name: string; observed: KubeObject[]; forgets: string[]; reasons?: Record<string, string>; refused?: string[] }
  >([
    { name: "one of many does not go unexplained", observed: pods(40), forgets: ["p7"], refused: ["p7"] },
    { name: "all of them do not", observed: pods(10), forgets: names("p", 10), refused: names("p", 10) },
    { name: "the only one does not", observed: pods(1), forgets: ["p0"], refused: ["p0"] },
    {
      name: "with their reasons, all do",
      observed: pods(2),
      forgets: ["p0", "p1"],
      reasons: { "Pod/p0": "a", "Pod/p1": "b" },
    },
    {
      name: "one volume of many children does not",
      observed: [volume, ...pods(40)],
      forgets: ["home"],
      refused: ["home"],
    },
    {
      name: "what dies already is no child that stays",
      observed: [...pods(10), ...dying],
      forgets: ["p0", "p1"],
      refused: ["p0", "p1"],
    },
    { name: "what dies already may be left out", observed: [...pods(10), ...dying], forgets: names("dying", 30) },
  ])("$name", async ({ observed, forgets, reasons = {}, refused }) => {
    const hook = forgetful(({ metadata }) => !forgets.includes(metadata.name), reasons);
    const { port, errors } = await serve([hook], true);
    const answer = await send(port, "POST", "/sync", { body: JSON.stringify(aRequest(aSandbox(), observed)) });
    expect([answer.status, answer.headers["retry-after"]]).toEqual(refused ? [429, "30"] : [200, undefined]);
    const { text } = await send(port, "GET", "/metrics");
    const counted = /guard_refusals_total\{hook="forgetful"\} (\d+)/.exec(text)?.[1];
    expect(counted ?? "0").toBe(refused ? "1" : "0");
    const children = refused?.map((name) => `${name === "home" ? "PersistentVolumeClaim" : "Pod"}/${name}`);
    expect(errors).toMatchObject(children ? [{ message: "Answer refused by the guard", name: "demo", children }] : []);
  });
});

describe("what goes over time", () => {
  const status = { conditions: [{ ...EXPIRED, lastTransitionTime: "2026-11-21T11:59:00Z" }] };
  const spec = { shutdownTime: "2026-11-21T11:59:00Z" };
  const expired = (name: string, annotations = {}) => ({
    body: JSON.stringify(
      aRequest(aSandbox({ spec, status, metadata: { name, annotations } }), [
        aReadyPod({ metadata: { name, uid: `pod-${name}` } }),
      ]),
    ),
  });
  const ask = async (port: number, ...args: Parameters<typeof expired>) => {
    const answer = JSON.parse((await send(port, "POST", "/sync", expired(...args))).text);
    const guarded = answer.status.conditions.find(({ type }: { type: string }) => type === "Guarded");
    return { children: answer.children.length, says: guarded?.message, again: answer.resyncAfterSeconds };
  };
  const start = (...flags: string[]) => {
    const settings = settingsOf(...flags);
    return serve(makeHooks(["sandbox"], settings), true, ...flags);
  };

  test("a process that has just started keeps what would go, says so, and counts", async () => {
    const { port } = await start("--max-losses-per-minute", "1");
    const says = expect.stringMatching(/^Deletion delayed by .*: Pod\/a \(would be deleted\)\. To delete now, set/);
    expect(await ask(port, "a")).toEqual({ children: 1, says, again: 5 });
    const { text } = await send(port, "GET", "/metrics");
    expect(text).toContain('hookbox_hook_losses_held_total{hook="sandbox"} 1');
  });

  test("an annotation allows the deletion of one Sandbox's children until a time that is ahead", async () => {
    const { port } = await start("--max-losses-per-minute", "1");
    const until = (time: string) => ({ "agents.x-k8s.io/losses-allowed-until": time });
    expect((await ask(port, "a", until("2999-01-01T00:00:00Z"))).children).toBe(0);
    expect((await ask(port, "b", until("2026-01-01T00:00:00Z"))).children, "it is past").toBe(1);
    expect((await ask(port, "c", until("soon"))).children, "it is none").toBe(1);
    const { text } = await send(port, "GET", "/metrics");
    expect(text).toContain('hookbox_hook_losses_total{hook="sandbox"} 1');
  });

  test("a rate that is unlimited is no limit; 0, which was that once, is refused", async () => {
    const { port } = await start("--max-losses-per-minute", "unlimited");
    expect(await ask(port, "a")).toEqual({ children: 0, says: undefined, again: undefined });
    for (const text of ["0", "few"]) {
      expect(() => settingsOf("--max-losses-per-minute", text)).toThrow(
        `Cannot use --max-losses-per-minute "${text}": use a number above 0, or "unlimited" for no limit`,
      );
    }
  });
});

describe("several hooks in one process", () => {
  test("each has its own paths and nothing at the root; what is not there is not found", async () => {
    const { port } = await serve(makeHooks([], DEFAULT_SETTINGS), false);
    const statusOf = async (method: string, path: string) =>
      (await send(port, method, path, method === "POST" ? SYNC : {})).status;
    for (const name of hookNames) {
      expect([name, await statusOf("GET", `/${name}/sync`)]).toEqual([name, 405]);
      expect([name, await statusOf("POST", `/${name}/finalize`)]).toEqual([name, 404]);
    }
    expect(await statusOf("POST", "/sandbox/sync")).toBe(200);
    expect(await statusOf("POST", "/sandboxwarmpool/customize"), "no pool").toBe(400);
    for (const path of ["/sync", "/customize", "/", "/sandbox/customize", "/sandbox/sync/x", "//sandbox/sync"]) {
      expect([path, await statusOf("POST", path)]).toEqual([path, 404]);
    }
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      expect([path, await statusOf("GET", path), await statusOf("POST", path)]).toEqual([path, 200, 404]);
    }
  });

  test("metrics have a port of their own where one is named, and are at the hooks' no more", async () => {
    const { port, metricsPort } = await serve([forgetful(() => true)], true, "--metrics-port", "0");
    await send(port, "POST", "/sync", SYNC);
    for (const path of ["/metrics", "/forgetful/metrics"]) {
      expect([path, (await send(port, "GET", path)).status]).toEqual([path, 404]);
    }
    const { status, text } = await send(metricsPort!, "GET", "/metrics");
    expect([status, text]).toEqual([200, expect.stringContaining('requests_total{hook="forgetful"')]);
    for (const path of ["/sync", "/forgetful/sync"]) {
      expect([path, (await send(metricsPort!, "POST", path, SYNC)).status]).toEqual([path, 404]);
    }
  });

  test("a stop turns readiness off, and ends the request that runs first", async () => {
    const server = await serve([forgetful(() => true)], true);
    const { port } = server;
    const running = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", agent: false });
    const answered = new Promise<number>((resolve) =>
      running.on("response", (answer) => resolve(answer.statusCode ?? 0))
    );
    running.write(SYNC.body.slice(0, 10));
    await until(async () => (await send(port, "GET", "/metrics")).text.includes('in_flight{hook="forgetful"} 1'));
    const stopped = server.stop();
    for (const path of ["/readyz", "/forgetful/readyz"]) {
      const { status, text } = await send(port, "GET", path);
      expect([path, status, text]).toEqual([path, 503, "stopping"]);
    }
    expect((await send(port, "GET", "/healthz")).status).toBe(200);
    running.end(SYNC.body.slice(10));
    expect(await answered).toBe(200);
    await stopped;
    await expect(send(port, "GET", "/healthz")).rejects.toThrow();
  });

  test("hooks/serve.ts serves the hooks of its option, records them, and ends with 0 on SIGTERM", async () => {
    const folder = makeTempFolder();
    const args = ["hooks/serve.ts", "sandbox", "sandboxwarmpool", ...LOCAL.slice(0, 4), "--record", folder];
    const { said, stop } = await startMain("node", args, "Listening");
    const [{ port }] = said("Listening") as [{ port: number }];
    const statusOf = async (path: string) => (await send(port, "POST", path, SYNC)).status;
    expect(await statusOf("/sandbox/sync")).toBe(200);
    expect([await statusOf("/sandboxclaim/sync"), await statusOf("/sync")]).toEqual([404, 404]);
    expect(await stop()).toBe(0);
    expect(readdirSync(folder)).not.toEqual([]);
    const wrong = await startMain("node", ["hooks/serve.ts", "other"], undefined);
    expect(await wrong.ended).toBe(2);
    expect(wrong.log()).toMatch(/^Cannot serve hook "other": there are sandbox, /);
  });
});

test.for(["node", "deno"] as const)(
  "on %s a connection serves one call after the other, whatever their size",
  async (runtime) => {
    const main = runtime === "node" ? ["hooks/serve.ts"] : ["run", "--allow-net", "hooks/serve.ts"];
    const { said } = await startMain(runtime, [...main, "sandbox", ...LOCAL.slice(0, 4)], "Listening");
    const [{ port }] = said("Listening") as [{ port: number }];
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const body = SYNC.body + " ".repeat(20_000);
    const call = () =>
      new Promise<unknown[]>((resolve, reject) => {
        const options = { port, agent, method: "POST", headers: { "content-length": body.length } };
        const request = httpRequest("http://127.0.0.1/sandbox/sync", options, (response) => {
          response.resume().once("end", () => setTimeout(resolve, 20, [response.statusCode, request.reusedSocket]));
        });
        request.once("error", reject).end(body);
      });
    expect(await call()).toEqual([200, false]);
    expect(await call(), "a new one for each would cost more than the call").toEqual([200, true]);
  },
);
