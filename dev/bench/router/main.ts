/**
 * Measures what the router costs: a small server alone, behind a bare proxy, and behind the router, alternately.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { commandLine } from "../../../packages/process/serve.ts";
import { startApi } from "./api.ts";
import { load, type Round, type Running, start } from "./measure.ts";

const HELP = `Usage: dev/bench/router/main.ts [options] [-- flags of the router]

Measures 16 clients that ask again as soon as they are answered, against a server with small answers: alone, behind the
least proxy that Node can be, and behind the router with its defaults, in turns.

  --clients N   how many (default 16)
  --seconds S   of each turn (default 5)
  --rounds N    turns of each (default 3)
  --json        print JSON instead of a table
`;

const { values, positionals } = parseArgs({
  args: commandLine(),
  allowPositionals: true,
  options: {
    clients: { type: "string", default: "16" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else await run();

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-bench-"));
  const api = await startApi();
  const running: Running[] = [];
  try {
    const backend = await start("dev/bench/router/backend.ts", [], /^(\d+)\n/);
    running.push(backend);
    const bare = await start("dev/bench/router/bareproxy.ts", [], /^(\d+)\n/);
    running.push(bare);
    const router = await start("packages/router/main.ts", routerFlags(folder, api.url), /"Serving".*"port":(\d+)/);
    running.push(router);
    report(await measure({ backend, bare, router }));
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

type Name = "backend" | "bare" | "router";

async function measure(ports: Record<Name, Running>): Promise<Record<Name, Round[]>> {
  const results: Record<Name, Round[]> = { backend: [], bare: [], router: [] };
  const names = Object.keys(results) as Name[];
  const turn = (name: Name, ms: number) => load(ports[name], ports.backend.port, Number(values.clients), ms);
  for (const name of names) await turn(name, 2000);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of names) results[name].push(await turn(name, Number(values.seconds) * 1000));
  }
  return results;
}

/** Returns the median of each figure, and the failures of all rounds. */
function middle(rounds: Round[]): Round {
  const of = (figure: keyof Round) =>
    rounds.map((round) => round[figure]).sort((a, b) => a - b)[rounds.length >> 1] ?? 0;
  const failures = rounds.reduce((sum, round) => sum + round.failures, 0);
  return { perSecond: of("perSecond"), p50: of("p50"), p99: of("p99"), cpu: of("cpu"), rss: of("rss"), failures };
}

function report(results: Record<Name, Round[]>): void {
  const [backend, bare, router] = [middle(results.backend), middle(results.bare), middle(results.router)];
  const ratios = {
    toBackend: router.perSecond / backend.perSecond,
    toBare: router.perSecond / bare.perSecond,
    cpuToBare: router.cpu / bare.cpu,
  };
  const added = { p50: router.p50 - backend.p50, p99: router.p99 - backend.p99 };
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ backend, bare, router, ratios, added, rounds: results })}\n`);
    return;
  }
  const line = (name: string, { perSecond, p50, p99, cpu, rss, failures }: Round) =>
    `| ${name} | ${perSecond.toFixed(0)} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${cpu.toFixed(0)} | ${
      rss.toFixed(0)
    } | ${failures} |\n`;
  process.stdout.write(
    "| | requests/s | p50 ms | p99 ms | CPU µs/request | MiB | failures |\n|---|---|---|---|---|---|---|\n" +
      line("server alone", backend) + line("behind a bare proxy", bare) + line("behind the router", router) +
      `\nThe router adds ${added.p50.toFixed(2)} ms (p50) and ${
        added.p99.toFixed(2)
      } ms (p99). Against the bare proxy: ` +
      `${ratios.toBare.toFixed(2)} × requests/s, ${ratios.cpuToBare.toFixed(2)} × CPU for each.\n`,
  );
}
