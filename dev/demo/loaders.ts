/** Builds images with docker, and loads them into the nodes of a cluster on this machine. @module */
import { spawn } from "node:child_process";
import { ROOT } from "./stage.ts";
import { typed } from "./terminal.ts";

/** How an image gets from docker to the nodes. */
export interface Loader {
  /** The tool whose cluster it is. */
  tool: string;
  /** Returns the command; undefined: the nodes use docker's images. */
  command(image: string): string[] | undefined;
  /** A command that starts the cluster, if it is stopped. */
  start: string;
}

/** Applications whose Kubernetes uses the images of their own docker. */
const SHARED = /^(docker-desktop|orbstack|rancher-desktop|colima(-.*)?)$/;

/**
 * Chooses the loader by the name of the context: the tools name the contexts of their clusters.
 *
 * @param provider the provider that the kubeconfig names for the cluster, as minikube does for each of its profiles
 * @returns undefined if the name shows no cluster of this machine: the nodes have to pull images from a registry
 */
export function loaderOf(context: string, provider?: string): Loader | undefined {
  const [, kind] = /^kind-(.+)$/.exec(context) ?? [];
  if (kind !== undefined) {
    return {
      tool: "kind",
      command: (image) => ["kind", "load", "docker-image", image, "--name", kind],
      start: `docker start ${kind}-control-plane`,
    };
  }
  const [, k3d] = /^k3d-(.+)$/.exec(context) ?? [];
  if (k3d !== undefined) {
    return {
      tool: "k3d",
      command: (image) => ["k3d", "image", "import", image, "--cluster", k3d],
      start: `k3d cluster start ${k3d}`,
    };
  }
  if (/^minikube(-.*)?$/.test(context) || provider?.startsWith("minikube")) {
    return {
      tool: "minikube",
      command: (image) => ["minikube", "--profile", context, "image", "load", image],
      start: `minikube start --profile ${context}`,
    };
  }
  if (SHARED.test(context)) {
    return { tool: context, command: () => undefined, start: `start ${context}, with Kubernetes enabled` };
  }
  return undefined;
}

/** Builds an image, shows how, and loads it. @throws {Error} if a program is missing or fails */
export async function buildImage(
  image: string,
  { file, folder = ROOT, loader, signal }: { file: string; folder?: string; loader: Loader; signal: AbortSignal },
): Promise<void> {
  await run(["docker", "build", "-f", file, "-t", image, "."], folder, signal);
  const load = loader.command(image);
  if (load !== undefined) await run(load, folder, signal);
}

const ELSEWHERE = "name an image that the nodes can pull: --image IMAGE, and --runtime-image IMAGE";

/** Runs a program on this terminal. */
async function run([program = "", ...args]: string[], cwd: string, signal: AbortSignal): Promise<void> {
  typed([program, ...args].join(" "));
  // Its output is progress, which the results of chapters do not contain.
  const child = spawn(program, args, { cwd, signal, stdio: ["ignore", 2, 2] });
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once("error", (error: Error & { code?: string }) => {
      if (error.code !== "ENOENT") return resolve(error.message);
      resolve(`Cannot run ${program}: it is not installed. Install it, or ${ELSEWHERE}.`);
    });
    child.once("exit", (code, name) => {
      const start = program === "docker" ? "If docker does not run, start it" : "Correct what it reports above";
      const line = [program, ...args].join(" ");
      resolve(code === 0 ? undefined : `Cannot run "${line}": exit code ${code ?? name}. ${start}, or ${ELSEWHERE}.`);
    });
  });
  signal.throwIfAborted();
  if (failure !== undefined) throw new Error(failure);
}
