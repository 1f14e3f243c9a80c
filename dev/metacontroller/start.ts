/** Starts Metacontroller for a local cluster: the real one if its binary is given, otherwise the fake one. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { get } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts } from "../cluster/ports.ts";

interface MetacontrollerOptions {
  kubeconfig: string;
  /** The file for the output, which is appended. */
  logFile: string;
  progress: (line: string) => void;
  /** The default is 20. */
  workers?: number;
  /** Whether the process keeps running after this one. It must then be ended by its process ID. */
  detached?: boolean;
  /** Path of the real Metacontroller. Default: environment variable METACONTROLLER; empty: the fake one. */
  binary?: string;
  /** Further flags of the real Metacontroller. */
  flags?: string[];
  /** Environment variables that are added to those of this process. */
  env?: Record<string, string>;
}

export interface StartedMetacontroller {
  kind: "real" | "fake";
  /** The version that the binary reports; for the fake Metacontroller, hookbox's. */
  version: string;
  pid: number;
  /** Ends the process: SIGTERM, and after ten seconds SIGKILL. */
  stop(): Promise<void>;
}

const UP_SECONDS = 60;
const PATIENCE_MS = 10_000;

/**
 * Starts Metacontroller, and resolves when it is ready. The CRDs in crds.yaml must exist.
 *
 * @throws {Error} with the end of the log, if the process ends or is not ready within a minute
 */
export async function startMetacontroller(options: MetacontrollerOptions): Promise<StartedMetacontroller> {
  const { logFile, progress, detached = false } = options;
  const binary = options.binary ?? process.env["METACONTROLLER"] ?? "";
  const kind = binary ? "real" : "fake";
  const [health = 0, metrics = 0] = await freePorts(2);
  const common = [
    `--kubeconfig=${options.kubeconfig}`,
    `--workers=${options.workers ?? 20}`,
    `--health-probe-bind-address=127.0.0.1:${health}`,
  ];
  const [command, ...args] = binary
    ? [binary, ...common, ...realFlags(metrics), ...(options.flags ?? [])]
    : [...thisRuntime(), ...common];
  const log = openSync(logFile, "a");
  const start = readFileSync(logFile).length;
  const env = { ...process.env, ...options.env };
  const child = spawn(command ?? "", args, { stdio: ["ignore", log, log], detached, env });
  closeSync(log);
  if (detached) child.unref();
  else endWithThis(child);
  progress(kind === "real" ? `starting Metacontroller (${binary})` : "starting the fake Metacontroller");
  const output = () => readFileSync(logFile).subarray(start).toString("utf8");
  try {
    await untilUp(child, health);
  } catch (error) {
    await end(child);
    throw new Error(`Cannot start ${kind} Metacontroller: ${(error as Error).message}\n${output().slice(-2000)}`);
  }
  const version = kind === "real" ? /"version":\s*"([^"]*)"/.exec(output())?.[1] ?? "unknown" : ownVersion();
  return { kind, version, pid: child.pid ?? 0, stop: () => end(child) };
}

/** Ends the process when this one ends, even if this one is interrupted and does not stop it. */
function endWithThis(child: ChildProcess): void {
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
}

/** The defaults (5 requests per second, and 10 at once) would make every measurement one of the rate limiter. */
function realFlags(metricsPort: number): string[] {
  return [
    "--client-go-qps=1000",
    "--client-go-burst=2000",
    "--discovery-interval=1s",
    `--metrics-address=127.0.0.1:${metricsPort}`,
    "--zap-log-level=info",
  ];
}

function thisRuntime(): string[] {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  return "Deno" in globalThis ? [process.execPath, "run", "-A", main] : [process.execPath, main];
}

function ownVersion(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

async function untilUp(child: ChildProcess, port: number): Promise<void> {
  const ended = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`it ended with ${signal ?? `code ${code}`}`)));
  });
  const late = Date.now() + UP_SECONDS * 1000;
  while (!await Promise.race([isHealthy(port), ended])) {
    if (Date.now() > late) throw new Error(`it is not up after ${UP_SECONDS} s`);
    await sleep(50);
  }
  ended.catch(() => {});
}

function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port, path: "/readyz", timeout: 1000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.once("timeout", () => request.destroy());
    request.once("error", () => resolve(false));
  });
}

function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const last = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    child.once("exit", () => {
      clearTimeout(last);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
