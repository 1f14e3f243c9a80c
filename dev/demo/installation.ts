/** Runs hookbox in the cluster, installed from deploy/ as users do it, with locally built images. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Cluster } from "../cluster/cluster.ts";
import { importHookbox, install } from "../deploy/install.ts";
import { held, note, output, type Shell, typed } from "./terminal.ts";
import { COPY, LOGS, type Parts } from "./parts.ts";
import { importRuntimeImage } from "../cluster/runtimeimage.ts";

const SYSTEM = ["-n", "hookbox-system"];
/** Label on everything that is installed. */
const NAME = "app.kubernetes.io/name";
const ROUTERS = ["-n", "agent-sandbox-system"];

/** Prepares the installation, but installs nothing yet. */
export function installation(cluster: Cluster, shell: Shell, signal: AbortSignal): Parts {
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
