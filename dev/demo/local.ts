/**
 * Opens the demo's stage on a cluster of its own, and runs hookbox there: installed in the cluster, or as processes on
 * this machine if nodes run no containers. @module
 */
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Cluster, environmentOf, startCluster } from "../cluster/cluster.ts";
import { endGently, type ProcessRecord, startProcess, startTimeOf, untilAnswering } from "../cluster/processes.ts";
import { readRecord, saveCluster, STATE_FOLDER } from "../cluster/state.ts";
import { COPY, LOGS, type Parts, ROOT, type Stage } from "./stage.ts";
import { chapter, held, makeShell, note, output, type Shell, typed } from "./terminal.ts";
import { hookNames } from "../../hooks/all.ts";
import { renderManifests } from "../../packages/manifests/render.ts";
import { freePorts } from "../cluster/ports.ts";
import { startMetacontroller } from "../metacontroller/start.ts";
import { importHookbox, install } from "../deploy/install.ts";
import { importRuntimeImage } from "../cluster/runtimeimage.ts";
import { localCRDs } from "../crds.ts";

const COPIED = ["packages", "hooks", "package.json", "tsconfig.json", "deno.json"];
const SIMULATED = "The nodes are simulated: no container runs that could answer.";

/** Starts the cluster. The chapters start everything else. */
export async function openLocalStage(signal: AbortSignal): Promise<Stage> {
  chapter("A Kubernetes of our own");
  const options = { stateDir: STATE_FOLDER, nodes: "auto", networkPolicies: true, crds: localCRDs() } as const;
  const cluster = await startCluster({ ...options, progress: output, signal });
  for (const folder of [COPY, LOGS]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const isSource = (path: string) => !/\/(dist|node_modules)$/.test(path);
  for (const name of COPIED) cpSync(join(ROOT, name), join(COPY, name), { recursive: true, filter: isSource });
  const shell = makeShell(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig], signal);
  const parts = (cluster.nodes === "real" ? installation : processes)(cluster, shell, signal);
  held(`kube-apiserver answers, and there is a ${cluster.nodes} node`);
  if (cluster.whyNotReal) note(cluster.whyNotReal);
  return {
    where: { kubeconfig: cluster.kubeconfig, namespace: "default" },
    shell,
    parts,
    missing: cluster.nodes === "real" ? {} : { containers: SIMULATED },
    leave: async ({ keep, failed }) => {
      chapter(keep ? "Everything keeps running" : "Stop everything");
      if (keep) {
        handOver(cluster, parts.localProcesses());
        return output(`${environmentOf(cluster)}\nnpm run down`);
      }
      if (failed) await parts.keepLogs();
      await Promise.all(parts.localProcesses().map(endGently));
      await cluster.stop();
      rmSync(COPY, { recursive: true, force: true });
      held("nothing is left running");
      if (failed) note("The logs of hooks, Metacontroller and keeper are in .hookbox/demo-logs.");
    },
  };
}

/** Adds the demo's processes to the cluster's record, so that `npm run down` ends them. */
function handOver(cluster: Cluster, processes: ProcessRecord[]): void {
  const record = readRecord(cluster.stateDir);
  if (!record) throw new Error(`Cannot leave the cluster running: ${cluster.stateDir} has no record of it`);
  saveCluster(cluster.stateDir, { ...record, owner: undefined, processes: [...record.processes, ...processes] });
}

/** Runs each part of hookbox as a process on this machine. Prepares the parts, but starts nothing yet. */
function processes(cluster: Cluster, shell: Shell, signal: AbortSignal): Parts {
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
    e2b: () => Promise.reject(new Error("E2B's SDKs have no use here: no node runs a container")),
    runtimeImage: () => Promise.reject(new Error("There is no image of the runtime: no node runs a container")),
    keepLogs: () => Promise.resolve(),
    localProcesses: () => [...running.values()],
  };
}

function startOne(name: string, command: string, args: string[]): ProcessRecord {
  return startProcess({ name, command, args, logFile: join(LOGS, `${name}.log`) });
}

const SYSTEM = ["-n", "hookbox-system"];
/** Label on everything that is installed. */
const NAME = "app.kubernetes.io/name";
const ROUTERS = ["-n", "agent-sandbox-system"];

/**
 * Installs hookbox from deploy/ as users do it, with locally built images. Prepares the installation, but installs
 * nothing yet.
 */
function installation(cluster: Cluster, shell: Shell, signal: AbortSignal): Parts {
  const options = { progress: output, signal };
  let isImported = false;
  return {
    copy: COPY,
    async install() {
      const engine = process.env["METACONTROLLER"] ? "Metacontroller" : "the fake Metacontroller";
      note(
        "This cluster cannot pull images, so they are built here. Elsewhere, use docker build (deploy/Containerfile).",
      );
      typed("kubectl apply -f metacontroller.yaml && kubectl apply -k deploy/namespaces && kubectl apply -k crds");
      typed("kubectl apply -k deploy/");
      await install(cluster, options);
      await shell.show(...SYSTEM, "get", "deployments");
      held(
        `${engine} runs in the cluster, and so do the functions: they have no credentials, and only it reaches them`,
      );
      held("keeper, binder and router run, two of each");
    },
    async redeploy() {
      typed("docker build -f deploy/Containerfile -t hookbox:second .    # here: the same, without docker");
      await importHookbox(cluster, "second", options, COPY);
      await shell.show(...SYSTEM, "set", "image", "deployment/sandbox", "hook=hookbox:second");
      await shell.show(...SYSTEM, "rollout", "status", "deployment/sandbox", "--timeout=120s");
    },
    touch: () => Promise.resolve(note("The keeper requeues every object of its kind:")),
    async running() {
      const { items } = JSON.parse(
        await shell.run("get", "pods", "-A", "-l", NAME, "-o", "json"),
      );
      const running = new Map<string, string>();
      for (const { metadata } of items as { metadata: { uid: string; labels: Record<string, string> } }[]) {
        const name = metadata.labels[NAME] ?? "";
        running.set(name, [...(running.get(name)?.split(" ") ?? []), metadata.uid].sort().join(" "));
      }
      return running;
    },
    async router() {
      const binding = ["--clusterrole=hookbox-sandbox-user", "--serviceaccount=default:default"];
      await shell.show("create", "rolebinding", "sandbox-users", ...binding);
      typed("TOKEN=$(kubectl create token default)");
      const token = (await shell.run("create", "token", "default")).trim();
      const path = "jsonpath={.spec.clusterIP}";
      const address = await shell.show(...ROUTERS, "get", "service", "sandbox-router-svc", "-o", path);
      const authorization = `Bearer ${token}`;
      return {
        url: `http://${address.trim()}:8080`,
        headers: { authorization },
        curl: '-H "Authorization: Bearer $TOKEN"',
      };
    },
    async e2b() {
      const create = [...ROUTERS, "create", "secret", "generic", "hookbox-e2b"];
      typed(`kubectl ${create.join(" ")} --from-literal=secret=$(openssl rand -hex 32)`);
      output(await shell.run(...create, `--from-literal=secret=${randomBytes(32).toString("hex")}`));
      await shell.show("apply", "-k", "deploy/e2b");
      note("The router would find the new Secret within two minutes. Restarted, it has it at once:");
      await shell.show(...ROUTERS, "rollout", "restart", "deployment/sandbox-router");
      for (const deployment of ["deployment/sandbox-router", "deployment/hookbox-e2b"]) {
        await shell.show(...ROUTERS, "rollout", "status", deployment, "--timeout=180s");
      }
      const addressOf = async (service: string) =>
        (await shell.show(...ROUTERS, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}")).trim();
      return {
        apiUrl: `http://${await addressOf("hookbox-e2b")}:3000`,
        sandboxUrl: `http://${await addressOf("sandbox-router-svc")}:8080`,
      };
    },
    async runtimeImage() {
      if (!isImported) {
        typed(
          "docker build -f deploy/runtime/Containerfile -t hookbox-runtime:local .    # here: the same, without docker",
        );
        await importRuntimeImage(cluster.stateDir, { progress: output });
        isImported = true;
      }
      return "hookbox-runtime:local";
    },
    async keepLogs() {
      for (const namespace of ["metacontroller", "hookbox-system", "agent-sandbox-system"]) {
        const args = ["-n", namespace, "logs", "-l", NAME, "--prefix", "--tail=-1", "--max-log-requests=20"];
        const text = await shell.run(...args).catch((error: Error) => error.message);
        writeFileSync(join(LOGS, `${namespace}.log`), text);
      }
    },
    localProcesses: () => [],
  };
}
