/**
 * Measures what the router costs: one small server alone, behind a bare proxy, the router, and the Go controller's
 * router. @module
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type ChildProcess, spawn } from "node:child_process";
import { commandLine } from "../../../packages/process/runprocess.ts";
import { freePorts } from "../../cluster/ports.ts";
import { type ProcessEntry, readProcess } from "../../../packages/process/proctable.ts";

const HELP = `Usage: dev/bench/router/main.ts [options] [-- flags of the router]

Measures 16 clients that send the next request as soon as the last one is answered. They call a server with small
answers in turns: directly, behind the smallest proxy on Node, behind the router with its defaults, and behind the Go
controller's router if you name one.

  --clients N   number of clients (default 16)
  --seconds S   length of a turn (default 5)
  --rounds N    turns with each server (default 3)
  --peer PATH   the router of kubernetes-sigs/agent-sandbox, a binary
  --json        print JSON instead of a table
`;

const ROOT = new URL("../../../", import.meta.url);
/** The script of the server, the bare proxy and the clients. */
const PROCESSES = "dev/bench/router/processes.ts";

type Name = "backend" | "bare" | "router" | "peer";

const LINES: Record<Name, string> = {
  backend: "server alone",
  bare: "behind a bare proxy",
  router: "behind the router",
  peer: "behind the Go controller's router",
};

/** The Go controller's router finds a sandbox by DNS or by this header. There is no DNS here. */
const GO_ROUTER_HEADERS = "X-Sandbox-Pod-IP: 127.0.0.1\r\n";

const { values, positionals } = parseArgs({
  args: commandLine(),
  allowPositionals: true,
  options: {
    clients: { type: "string", default: "16" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    peer: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const SANDBOX = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "demo", namespace: "bench", uid: "demo", resourceVersion: "1" },
  spec: { operatingMode: "Running" },
};
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "demo",
    namespace: "bench",
    uid: "pod",
    resourceVersion: "1",
    ownerReferences: [{ apiVersion: SANDBOX.apiVersion, kind: "Sandbox", name: "demo", uid: "demo", controller: true }],
  },
  status: { phase: "Running", podIPs: [{ ip: "127.0.0.1" }], conditions: [{ type: "Ready", status: "True" }] },
};

if (values.help) process.stdout.write(HELP);
else await run();

type Results = Partial<Record<Name, Round[]>>;

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-bench-"));
  const api = await startApi();
  const running: Running[] = [];
  try {
    const backend = await start(PROCESSES, ["backend"], /^(\d+)\n/);
    running.push(backend);
    const bare = await start(PROCESSES, ["bare"], /^(\d+)\n/);
    running.push(bare);
    const router = await start("packages/router/main.ts", routerFlags(folder, api.url), /"Serving".*"port":(\d+)/);
    running.push(router);
    const peer = values.peer === undefined ? undefined : await startGoRouter(values.peer);
    if (peer) running.push(peer);
    report(await measure({ backend, bare, router, ...(peer && { peer }) }));
  } finally {
    running.forEach(({ child }) => child.kill());
    api.server.closeAllConnections();
    api.server.close();
    rmSync(folder, { recursive: true });
  }
}

function routerFlags(folder: string, server: string): string[] {
  const kubeconfig = join(folder, "kubeconfig");
  const config = {
    clusters: [{ name: "bench", cluster: { server } }],
    users: [{ name: "bench", user: {} }],
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    "current-context": "bench",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const flags = ["--kubeconfig", kubeconfig, "--port", "0", "--authz-mode", "allow-all", "--allow-loopback-pod-ip"];
  return [...flags, ...positionals];
}

async function startGoRouter(path: string): Promise<Running> {
  const [port = 0, ...others] = await freePorts(3);
  const [health, metrics] = others.map((other) => `127.0.0.1:${other}`);
  const addresses = ["-health-probe-bind-address", health, "-metrics-bind-address", metrics].map(String);
  const args = ["-http-bind-address", `127.0.0.1:${port}`, "-allow-loopback-pod-ip", ...addresses];
  return await startProgram(path, args, new RegExp(`"listening".*"proxy-http".*:(${port})`));
}

async function measure(servers: Record<"backend", Running> & Partial<Record<Name, Running>>): Promise<Results> {
  const target = servers.backend.port;
  const turn = (name: string, server: Running, ms: number) =>
    load(server, { target, clients: Number(values.clients), ms, headers: name === "peer" ? GO_ROUTER_HEADERS : "" });
  const turns = Object.entries(servers);
  const rounds = turns.map((): Round[] => []);
  for (const [name, server] of turns) await turn(name, server, 2000);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [index, [name, server]] of turns.entries()) {
      rounds[index]?.push(await turn(name, server, Number(values.seconds) * 1000));
    }
  }
  return Object.fromEntries(turns.map(([name], index) => [name, rounds[index]]));
}

/** The median of each figure; failures of all rounds. */
function middle(rounds: Round[]): Round {
  const of = (figure: keyof Round) =>
    rounds.map((round) => round[figure]).sort((a, b) => a - b)[rounds.length >> 1] ?? 0;
  const failures = rounds.reduce((sum, round) => sum + round.failures, 0);
  return { perSecond: of("perSecond"), p50: of("p50"), p99: of("p99"), cpu: of("cpu"), rss: of("rss"), failures };
}

function report(results: Results): void {
  const middles = Object.fromEntries(Object.entries(results).map(([name, rounds]) => [name, middle(rounds)]));
  const { backend, bare, router, peer } = middles as Record<Exclude<Name, "peer">, Round> & { peer?: Round };
  const ratios = {
    toBackend: router.perSecond / backend.perSecond,
    toBare: router.perSecond / bare.perSecond,
    cpuToBare: router.cpu / bare.cpu,
    ...(peer && {
      toPeer: router.perSecond / peer.perSecond,
      p99ToPeer: router.p99 / peer.p99,
      memoryToPeer: router.rss / peer.rss,
    }),
  };
  const added = { p50: router.p50 - backend.p50, p99: router.p99 - backend.p99 };
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ ...middles, ratios, added, rounds: results })}\n`);
    return;
  }
  const line = (name: string, { perSecond, p50, p99, cpu, rss, failures }: Round) =>
    `| ${LINES[name as Name]} | ${perSecond.toFixed(0)} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${cpu.toFixed(0)} | ${
      rss.toFixed(0)
    } | ${failures} |\n`;
  const { toPeer, p99ToPeer, memoryToPeer } = ratios;
  const against = toPeer === undefined
    ? ""
    : ` Compared with the Go controller's router: ${toPeer.toFixed(2)} × requests/s, p99 ${p99ToPeer?.toFixed(2)}, ${
      memoryToPeer?.toFixed(2)
    } × memory.`;
  process.stdout.write(
    "| | requests/s | p50 ms | p99 ms | CPU µs/request | MiB | failures |\n|---|---|---|---|---|---|---|\n" +
      Object.entries(middles).map(([name, round]) => line(name, round)).join("") +
      `\nThe router adds ${added.p50.toFixed(2)} ms (p50) and ${
        added.p99.toFixed(2)
      } ms (p99). Compared with the bare proxy: ` +
      `${ratios.toBare.toFixed(2)} × requests/s, ${ratios.cpuToBare.toFixed(2)} × CPU for each.${against}\n`,
  );
}

/** Starts the server and returns its URL. Watches stay open and send no events. */
async function startApi(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    if (request.url?.includes("watch=true")) return response.flushHeaders();
    const items = request.url?.includes("/pods") ? [POD] : [SANDBOX];
    response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** A process that has printed the port on which it listens. */
interface Running {
  child: ChildProcess;
  port: number;
}

/** The results of one load, and what it cost the process that answered. Times are in milliseconds. */
interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  failures: number;
  /** CPU time of the process for each request, in microseconds, and its memory after the load, in MiB. */
  cpu: number;
  rss: number;
}

/** Starts a script of this checkout, and waits until it has printed a port. @throws if it ends before */
function start(script: string, args: string[], portIn: RegExp): Promise<Running> {
  return startProgram(process.execPath, [new URL(script, ROOT).pathname, ...args], portIn);
}

/** Starts a program, and waits until it has printed its port. @throws if it ends before */
async function startProgram(program: string, args: string[], portIn: RegExp): Promise<Running> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const port = await new Promise<number>((resolve, reject) => {
    const read = (chunk: Uint8Array) => {
      const [, found] = portIn.exec(output += chunk) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once(
      "exit",
      (code) => reject(new Error(`Cannot start ${program} ${args[0]}: it ended with ${code}: ${output}`)),
    );
  });
  // All further output is read and dropped. Otherwise, the pipe would fill and block the process.
  child.stdout?.removeAllListeners("data").resume();
  child.stderr?.removeAllListeners("data").resume();
  return { child, port };
}

/** Sends requests to a server for `ms` milliseconds. @param headers headers in addition to those of every request */
async function load(
  { child, port }: Running,
  { target, clients, ms, headers = "" }: { target: number; clients: number; ms: number; headers?: string },
): Promise<Round> {
  const before = statOf(child).cpuSeconds;
  const args = [
    new URL(PROCESSES, ROOT).pathname,
    "load",
    ...[port, target, clients, ms].map(String),
    headers,
  ];
  const loader = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of loader.stdout) text += chunk;
  const { requests, failures, seconds, p50, p99 } = JSON.parse(text);
  const { cpuSeconds, rssBytes } = statOf(child);
  const cpu = (cpuSeconds - before) * 1e6 / requests;
  return { perSecond: requests / seconds, p50, p99, failures, cpu, rss: rssBytes / 2 ** 20 };
}

function statOf({ pid = 0 }: ChildProcess): ProcessEntry {
  const entry = readProcess(pid);
  if (!entry) throw new Error(`Cannot measure process ${pid}: it has ended`);
  return entry;
}
