/** The published Go client: its own integration test, and a program with the lines of docs/clients.md. @module */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../../dev/cluster/binaries.ts";
import { withLock } from "../../dev/cluster/lock.ts";
import { fencesOf } from "../../dev/docs/codeblocks.ts";
import { namespaceOf } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { GATEWAY, provideGateway } from "./gateway.ts";
import { podSpecOf, POOL, say, type Stage } from "./stage.ts";

const SOURCE = fileURLToPath(new URL("goclient", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/clients.md", import.meta.url));
const PACKAGE = "sigs.k8s.io/agent-sandbox/clients/go/sandbox";
/** The client looks for the router in the namespace of the sandbox. */
const ROUTERS = "agent-sandbox-system";

const CLIENT = { client: "agent-sandbox, Go client", version: "0.5.6", runs: "npm run soak -- consumers" } as const;
const SUITE_NOTE = "The integration test of the client.";

/** The rows of the client. */
export const GO_CLIENT: Consumer[] = [
  {
    ...CLIENT,
    way: "`APIURL` of the router, bearer token in `HTTPTransport`",
    run: async ({ here, ns, router, token }) => {
      const { program } = await build();
      return JSON.parse(await here(program, [POOL, ns.name, router, token]));
    },
  },
  {
    ...CLIENT,
    way: "Gateway",
    note: `${SUITE_NOTE} The HTTPRoute must add the token. A small proxy plays the Gateway.`,
    run: async (stage) => {
      await provideGateway(stage);
      return await suite(stage, stage.ns.name, [`-gateway-name=${GATEWAY}`, `-gateway-namespace=${stage.ns.name}`]);
    },
  },
  {
    ...CLIENT,
    way: "port-forward to the router (default)",
    note: `${SUITE_NOTE} The pool must be in the namespace of the router.`,
    run: async (stage) => {
      const { program } = await build();
      const ns = namespaceOf(stage.cluster, ROUTERS);
      await ns.apply(aTemplate(POOL, {}, podSpecOf(stage.image)), aPool(POOL, 1));
      await untilFull(ns, POOL);
      const checks = JSON.parse(await stage.here(program, [POOL, ROUTERS]));
      return { ...checks, ...await suite(stage, ROUTERS, []) };
    },
  },
];

/** Runs the integration test of the client. @returns the result of each of its parts */
async function suite({ here }: Stage, namespace: string, flags: string[]): Promise<Checks> {
  const args = ["-test.v", "-test.run=^TestIntegration", `-warmpool-name=${POOL}`, `-namespace=${namespace}`, ...flags];
  const output = await here((await build()).suite, args, { env: { INTEGRATION_TEST: "1" }, anyhow: true });
  return partsOf(output);
}

/**
 * Reads what a Go test prints. A part that has parts is a check only if it fails by itself.
 * @throws {Error} with the output if no test has run
 */
export function partsOf(output: string): Checks {
  const parts = [...output.matchAll(/^\s*--- (PASS|FAIL): (\S+)/gm)].map(([, result, name = ""]) => ({
    name,
    result: result === "PASS" ? "ok" : "failed",
  }));
  if (parts.length === 0) throw new Error(`No test has run\n${output}`);
  const checks = parts.filter(({ name, result }) => {
    const within = parts.filter((other) => other.name.startsWith(`${name}/`));
    return within.length === 0 || result === "failed" && within.every((other) => other.result === "ok");
  });
  return Object.fromEntries(checks.map(({ name, result }) => [name, result]));
}

/** Builds the integration test and the program once into the cache. @returns their paths */
async function build(): Promise<{ suite: string; program: string }> {
  const page = pageOf(readFileSync(PAGE, "utf8"));
  const hash = createHash("sha256").update(process.platform + process.arch + page);
  for (const file of ["go.mod", "go.sum", "main.go"]) hash.update(readFileSync(join(SOURCE, file)));
  const folder = join(cacheFolder(), `goclient-${hash.digest("hex").slice(0, 16)}`);
  const found = { suite: join(folder, "client.test"), program: join(folder, "goclient") };
  await withLock(`build ${folder}`, async () => {
    if (existsSync(found.program)) return;
    say("building the integration test of the Go client (first run only) …");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    cpSync(SOURCE, folder, { recursive: true });
    writeFileSync(join(folder, "page.go"), page);
    const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
    const go = (...args: string[]) => promisify(execFile)("go", args, { cwd: folder, env });
    await go("test", "-c", "-tags=integration", "-o", found.suite, PACKAGE);
    await go("build", "-o", found.program, ".");
  });
  return found;
}

/** Returns the lines of docs/clients.md as a file of Go. Names and addresses in them become parameters. */
function pageOf(markdown: string): string {
  const [forward = "", transport = "", token = ""] = fencesOf(markdown, "go").map(({ text }) => text);
  const given = token.replace('"team-a"', "namespace").replace(/"http:[^"]*"/, "router");
  return `package main

import (
	"context"
	"net/http"

	"${PACKAGE}"
)

func byPortForward(ctx context.Context) (*sandbox.Client, *sandbox.ExecutionResult, error) {
${forward}
	return client, result, err
}

${transport}

func byToken(ctx context.Context, namespace, router, token string) (*sandbox.Client, error) {
${given}
	return client, err
}
`;
}
