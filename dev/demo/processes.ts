/** Runs each part of hookbox as a process on this machine, for a cluster whose nodes run no containers. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { hookNames } from "../../hooks/all.ts";
import { renderManifests } from "../../packages/manifests/render.ts";
import { untilAnswering } from "../cluster/wait.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { freePorts } from "../cluster/ports.ts";
import { endGently, type ProcessRecord, startProcess, startTimeOf } from "../cluster/processes.ts";
import { startMetacontroller } from "../metacontroller/start.ts";
import { held, note, output, type Shell, typed } from "./terminal.ts";
import { COPY, LOGS, type Parts, ROOT } from "./parts.ts";

/** Prepares the parts, but starts nothing yet. */
export function processes(cluster: Cluster, shell: Shell, signal: AbortSignal): Parts {
  const running = new Map<string, ProcessRecord>();
  const urls = new Map<string, string>();
  const startHook = async (name: string) => {
    const before = running.get(name);
    if (before) await endGently(before);
    const url = urls.get(name) ?? "";
    const { host, port } = new URL(url);
    const deno = ["run", "--no-prompt", `--allow-net=${host}`, join(COPY, `hooks/${name}/main.ts`)];
    const command = join(ROOT, "node_modules/.bin/deno");
    const started = startOne(name, command, [...deno, "--host", "127.0.0.1", "--port", port]);
    running.set(name, started);
    await untilAnswering(`${url}/healthz`, started, signal);
  };
  const startEngine = async () => {
    const logFile = join(LOGS, "metacontroller.log");
    const at = { kubeconfig: cluster.kubeconfig, logFile, progress: output, detached: true };
    const { kind, version, pid } = await startMetacontroller(at);
    running.set("engine", { name: "engine", pid, startTime: startTimeOf(pid) ?? "gone", logFile });
    return kind === "real" ? `Metacontroller ${version}` : "the fake Metacontroller";
  };
  return {
    copy: COPY,
    async install() {
      const ports = await freePorts(hookNames.length);
      for (const [index, name] of hookNames.entries()) urls.set(name, `http://127.0.0.1:${ports[index]}`);
      const manifests = join(COPY, "manifests.yaml");
      writeFileSync(manifests, renderManifests((hook) => urls.get(hook) ?? ""));
      typed("npm run -s hookbox manifests | kubectl apply -f -    # each function at a port of its own");
      output(await shell.run("apply", "-f", manifests));
      for (const [hook, url] of urls) {
        typed(`deno run --allow-net=${new URL(url).host} hooks/${hook}/main.ts &`);
        await startHook(hook);
      }
      held("the functions run: each may listen on its own port and do nothing else, and has no credentials");
      typed("npm run hookbox keeper &");
      const engine = await startEngine();
      const keeper = [join(ROOT, "packages/keeper/main.ts"), "--kubeconfig", cluster.kubeconfig];
      running.set("keeper", startOne("keeper", process.execPath, keeper));
      held(`${engine} runs and calls the functions`);
    },
    redeploy: () => startHook("sandbox"),
    async touch() {
      note("Metacontroller calls functions when something changes, so the demo changes an annotation:");
      await shell.show("annotate", "sandbox", "demo", "example.com/touched=yes");
    },
    running: () => Promise.resolve(new Map([...running].map(([name, { pid }]) => [name, String(pid)]))),
    router: () => Promise.reject(new Error("There is no router: no node runs a container to which it could connect")),
    runtimeImage: () => Promise.reject(new Error("There is no image of the runtime: no node runs a container")),
    keepLogs: () => Promise.resolve(),
    localProcesses: () => [...running.values()],
  };
}

function startOne(name: string, command: string, args: string[]): ProcessRecord {
  return startProcess({ name, command, args, logFile: join(LOGS, `${name}.log`) });
}
