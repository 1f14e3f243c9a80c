/** A router of the cluster under test, as a process. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { type Child, startChild } from "./processes.ts";

/** A router that answers. */
export interface Router extends Child {
  /** Where clients come, without a slash at its end. */
  url: string;
}

const PATIENCE_MS = 60_000;

/** Starts a router that lets everybody in, unless `args` say otherwise; it is ended with the test. */
export async function startRouter(...args: string[]): Promise<Router> {
  const [port = 0, health = 0] = await freePorts(2);
  const child = startChild("router", [
    "router/main.ts",
    "--kubeconfig",
    inject("kubeconfig"),
    "--port",
    String(port),
    "--health-probe-bind-address",
    `127.0.0.1:${health}`,
    "--authz-mode",
    "allow-all",
    ...args,
  ], inject("logs"));
  onTestFinished(() => child.stop());
  await untilReady(`http://127.0.0.1:${health}/readyz`);
  return { ...child, url: `http://127.0.0.1:${port}` };
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
