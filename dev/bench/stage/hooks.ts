/** Starts the hooks, the keeper and the binder of a checkout as processes. @module */
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { untilAnswering } from "../../cluster/wait.ts";
import { freePorts } from "../../cluster/ports.ts";
import { type ProcessRecord, startProcess } from "../../cluster/processes.ts";
import type { Profiler } from "../measure/profiles.ts";
import type { Layout } from "./layout.ts";

/** What to start, and where to write its logs. */
export interface Start {
  checkout: string;
  layout: Layout;
  /** The folder for logs. */
  folder: string;
  /** Every process is added when it starts, so that the caller can end it in any case. */
  started: ProcessRecord[];
  signal: AbortSignal;
  profiler?: Profiler | undefined;
}

/** Starts the hooks, and resolves when all of them answer. */
export async function startHooks(start: Start): Promise<{ urls: string[]; urlOf: (hook: string) => string }> {
  const { checkout, layout } = start;
  const { hookNames } = await partOf<typeof import("../../../hooks/all.ts")>(checkout, "hooks/all.ts");
  const groups = layout.together ? [{ name: "hooks", hooks: hookNames }] : hookNames.map((name) => ({
    name,
    hooks: [name],
  }));
  const ports = await freePorts(groups.length);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  await Promise.all(groups.map(async ({ name, hooks }, index) => {
    const args = [...hooks, "--host", "127.0.0.1", "--port", String(ports[index])];
    const record = startScript(start, name, "hooks/serve.ts", args, ["--allow-net=127.0.0.1"]);
    await untilAnswering(`${urls[index]}/healthz`, record, start.signal);
  }));
  return { urls, urlOf: (hook) => urls[groups.findIndex(({ hooks }) => hooks.includes(hook))] ?? "" };
}

/** Starts the keeper and the binder, one of each. */
export function startKeeperAndBinder(start: Start, kubeconfig: string): void {
  const permissions = ["--allow-net", "--allow-read", "--allow-env", "--allow-sys"];
  const args = ["--kubeconfig", kubeconfig, "--no-leader-election"];
  const { keeperBinds } = start.layout;
  startScript(
    start,
    "keeper",
    "packages/keeper/main.ts",
    [...args, ...(keeperBinds ? [] : ["--no-binder"])],
    permissions,
  );
  if (!keeperBinds) startScript(start, "binder", "packages/binder/main.ts", args, permissions);
}

function startScript(
  { checkout, layout, folder, started, profiler }: Start,
  name: string,
  script: string,
  args: string[],
  permissions: string[],
): ProcessRecord {
  const [command, ...before] = layout.runtime === "deno"
    // Deno's own binary. The script in node_modules/.bin would stay as a process of its own.
    ? [join(checkout, "node_modules/deno/deno"), "run", "--quiet", ...permissions]
    : [process.execPath, ...(profiler?.nodeArgs(name) ?? [])];
  const logFile = join(folder, "logs", `${name}.log`);
  const record = startProcess({
    name,
    command: command ?? "",
    args: [...before, join(checkout, script), ...args],
    logFile,
  });
  started.push(record);
  return record;
}

/** Loads a module of a checkout. Each checkout defines itself what it serves and how it is installed. */
export async function partOf<T>(checkout: string, path: string): Promise<T> {
  return await import(pathToFileURL(join(checkout, path)).href) as T;
}
