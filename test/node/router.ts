/** A router of the cluster under test, as a process. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { type Child, startChild } from "../integration/processes.ts";
import { suite } from "../integration/suite.ts";
import { PATIENCE_MS } from "../patience.ts";

/** A router that answers. */
export interface Router extends Child {
  /** Where clients come, without a slash at its end. */
  url: string;
  port: number;
  /** Sums the samples of a metric, of those whose labels contain `label` where that is given; 0 if there are none. */
  metric(name: string, label?: string): Promise<number>;
  /** What it has logged of a Sandbox, except requests, in order; at level debug also why it lets it be. */
  said(namespace: string, name: string): { message: string; because?: string }[];
}

/** Starts a router that lets everybody in, unless `args` say otherwise; it is ended with the test. */
export async function startRouter(...args: string[]): Promise<Router> {
  const [port = 0, side = 0] = await freePorts(2);
  const name = `router-${port}`;
  const child = startChild(name, [
    "packages/router/main.ts",
    "--kubeconfig",
    suite.kubeconfig,
    "--port",
    String(port),
    "--health-probe-bind-address",
    `127.0.0.1:${side}`,
    "--metrics-bind-address",
    `127.0.0.1:${side}`,
    "--authz-mode",
    "allow-all",
    "--identity",
    name,
    ...args,
  ], suite.logs);
  onTestFinished(() => child.stop());
  await untilReady(`http://127.0.0.1:${side}/readyz`);
  const log = join(suite.logs, `${name}.log`);
  return {
    ...child,
    port,
    url: `http://127.0.0.1:${port}`,
    metric: async (metric, label) =>
      sumOf(await (await fetch(`http://127.0.0.1:${side}/metrics`)).text(), metric, label),
    said: (namespace, sandbox) =>
      linesOf(log).filter((line) => {
        return line.message !== "Request" && line.namespace === namespace && line.name === sandbox;
      }),
  };
}

async function untilReady(url: string): Promise<void> {
  const late = Date.now() + PATIENCE_MS;
  while (Date.now() < late) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await sleep(50);
  }
  throw new Error(`Cannot use the router: ${url} does not answer after ${PATIENCE_MS / 1000} s`);
}

function sumOf(text: string, name: string, label = ""): number {
  const samples = text.split("\n").filter((line) => /^[{ ]/.test(line.slice(name.length)) && line.startsWith(name));
  return samples.filter((line) => line.includes(label)).reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** Lines of events and requests. The last may be unfinished. */
function linesOf(file: string): { message: string; namespace?: string; name?: string }[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.filter((line) => line.startsWith('{"time"')).map((line) => JSON.parse(line));
}
