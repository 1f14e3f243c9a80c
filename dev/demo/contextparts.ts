/** Installs hookbox on a cluster that exists, unless it is installed there, and reaches it from this machine. @module */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { lackOf } from "../../packages/cli/commands/install.ts";
import { bundleObjects } from "../../packages/cli/install/bundle.ts";
import { type Api, isOk, pathOf } from "../../packages/kube/api.ts";
import { createAll, type Ledger } from "./ledger.ts";
import { buildImage, type Loader } from "./loaders.ts";
import { type Parts, ROOT } from "./stage.ts";
import type { Plan } from "./plan.ts";
import { createPullCheck, readPods, reasonsOf } from "./pods.ts";
import { held, note, output, type Shell, typed } from "./terminal.ts";

const SYSTEM = ["-n", "hookbox-system"];
const ROUTER = ["-n", "agent-sandbox-system"];
/** The namespaces of an installation. */
const NAMESPACES = ["metacontroller", "hookbox-system", "agent-sandbox-system"];
/** Names of the images that docker builds for the demo. */
export const IMAGE = "hookbox:demo";
const SECOND_IMAGE = "hookbox:demo-second";
export const RUNTIME_IMAGE = "hookbox-runtime:demo";

/** A copy of the checkout for the image with a changed function. */
const COPY = join(ROOT, ".hookbox/demo-context");
/** What docker needs no copy of (.dockerignore). */
const LEFT_OUT = ["node_modules", ".git", ".hookbox", "dist"];
const METACONTROLLER = "/apis/apps/v1/namespaces/metacontroller/statefulsets/metacontroller";
const READY_MS = 300_000;
const POLL_MS = 1000;

/** The cluster, and what to do there. */
export interface Surroundings {
  api: Api;
  kubectl: { path: string; globals: readonly string[] };
  shell: Shell;
  ledger: Ledger;
  plan: Plan;
  loader: Loader | undefined;
  /** The image of hookbox; undefined: docker builds it. */
  image: string | undefined;
  /** The image of the runtime; undefined: docker builds it. */
  runtimeImage: string | undefined;
  /** What to do about an image that a node cannot pull. */
  advise(image: string): string;
  signal: AbortSignal;
}

/** The parts, and how to end what they have started on this machine. */
export interface ContextParts extends Parts {
  end(): void;
}

/** Prepares the parts, but creates nothing yet. */
export function contextParts(around: Surroundings): ContextParts {
  const { shell, ledger, plan, loader, signal } = around;
  const { namespace } = ledger;
  const isOurs = plan.creates.length > 0;
  const canBuild = loader !== undefined && around.image === undefined;
  let forward: ChildProcess | undefined;
  let runtime: Promise<string> | undefined;
  return {
    copy: isOurs && canBuild ? COPY : undefined,
    ...isOurs ? {} : { whyFixed: "hookbox was installed before, so the demo does not replace its functions." },
    async install() {
      if (isOurs && canBuild) {
        await buildImage(IMAGE, { file: "deploy/Containerfile", loader, signal });
      }
      const metacontroller = plan.installsMetacontroller ? await metacontrollerObjects(around) : [];
      typed(`kubectl create namespace ${namespace}`);
      await createAll(around.api, ledger, [namespaceOf(namespace)], signal);
      if (ledger.entries().length === 0) throw new Error(`Cannot create namespace ${namespace}: it exists already`);
      if (metacontroller.length > 0) {
        typed("kubectl apply --server-side -k deploy/metacontroller");
        await createAll(around.api, ledger, metacontroller, signal);
        output(`created ${metacontroller.length} objects`);
      }
      if (isOurs) await installHookbox(around);
      else await shell.show("get", "compositecontrollers,decoratorcontrollers");
      held(isOurs ? "hooks, keeper, binder and router run" : "the controllers of hookbox are installed");
    },
    async redeploy() {
      const target = "deployment/sandbox";
      if (canBuild) {
        await buildImage(SECOND_IMAGE, { file: "deploy/Containerfile", folder: COPY, loader, signal });
        await shell.show(...SYSTEM, "set", "image", target, `hook=${SECOND_IMAGE}`);
      } else {
        note("The image was not built here, so the demo starts the same function again:");
        await shell.show(...SYSTEM, "rollout", "restart", target);
      }
      await shell.show(...SYSTEM, "rollout", "status", target, "--timeout=300s");
    },
    touch: () => Promise.resolve(note("The keeper requeues every object of its kind:")),
    async running() {
      const running = new Map<string, string[]>();
      for (const part of ["part-of=hookbox", "name=metacontroller"]) {
        const pods = await shell.run("get", "pods", "-A", "-l", `app.kubernetes.io/${part}`, "-o", "json");
        for (const { metadata: { labels = {}, uid } } of (JSON.parse(pods) as { items: Pod[] }).items) {
          const name = labels["app.kubernetes.io/name"] ?? "";
          running.set(name, [...running.get(name) ?? [], uid].sort());
        }
      }
      return new Map([...running].map(([name, uids]) => [name, uids.join(" ")]));
    },
    async router() {
      const binding = ["--clusterrole=hookbox-sandbox-user", `--serviceaccount=${namespace}:default`];
      await shell.show("create", "rolebinding", "sandbox-users", ...binding);
      typed("TOKEN=$(kubectl create token default)");
      const authorization = `Bearer ${(await shell.run("create", "token", "default")).trim()}`;
      const opened = await portForward(around);
      forward = opened.child;
      return { url: opened.url, headers: { authorization }, curl: '-H "Authorization: Bearer $TOKEN"' };
    },
    e2b: () => Promise.reject(new Error("The demo does not serve E2B's SDKs on this cluster")),
    runtimeImage: () => runtime ??= runtimeOf(around),
    keepLogs: () => Promise.resolve(),
    localProcesses: () => [],
    end() {
      forward?.kill();
      rmSync(COPY, { recursive: true, force: true });
    },
  };
}

interface Pod {
  metadata: { labels?: Record<string, string>; uid: string };
}

function namespaceOf(name: string): KubeObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** Copies what an image is built from. */
export function copyCheckout(): void {
  rmSync(COPY, { recursive: true, force: true });
  const isSource = (path: string) => !/[/\\](dist|node_modules)$/.test(path);
  for (const name of readdirSync(ROOT).filter((one) => !LEFT_OUT.includes(one))) {
    cpSync(join(ROOT, name), join(COPY, name), { recursive: true, filter: isSource });
  }
}

/** Renders Metacontroller's manifests. @throws {Error} if github.com cannot be reached */
async function metacontrollerObjects({ kubectl, signal }: Surroundings): Promise<KubeObject[]> {
  const args = ["kustomize", join(ROOT, "deploy/metacontroller")];
  try {
    return bundleObjects((await promisify(execFile)(kubectl.path, args, { signal, maxBuffer: 1 << 26 })).stdout);
  } catch (error) {
    signal.throwIfAborted();
    const { stderr = "", message } = error as { stderr?: string; message: string };
    const why = /fatal: .*/.exec(stderr)?.[0] ?? (stderr.trim() || message);
    throw new Error(
      `Cannot read Metacontroller's manifests: ${why}. They come from github.com by git. If you cannot reach it, ` +
        "install Metacontroller in another way (docs/install.md), and start the demo again.",
    );
  }
}

async function installHookbox(
  { api, ledger, plan, image = IMAGE, advise, shell, signal }: Surroundings,
): Promise<void> {
  typed(`hookbox install --apply --wait --image ${image}`);
  await createAll(api, ledger, plan.creates, signal);
  output(`created ${plan.creates.length} objects; waiting until the processes are ready …`);
  const read = () => readPods(api, NAMESPACES);
  const check = createPullCheck(read, advise);
  const deadline = performance.now() + READY_MS;
  for (;;) {
    signal.throwIfAborted();
    const lacking = await lackingOf(api, plan);
    if (lacking.length === 0) break;
    await check();
    if (performance.now() > deadline) {
      const reasons = reasonsOf(await read());
      throw new Error(`Not ready after ${READY_MS / 1000} s: ${[...lacking, ...reasons].join("; ")}`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
  await shell.show(...SYSTEM, "get", "deployments");
}

/** Returns what Deployments, and Metacontroller's StatefulSet, lack until they are ready. */
async function lackingOf(api: Api, { creates, installsMetacontroller }: Plan): Promise<string[]> {
  const paths = creates.filter(({ kind }) => kind === "Deployment").map(({ metadata: { namespace, name } }) =>
    pathOf({ resource: "deployments", namespace, name })
  );
  const found = await Promise.all([...paths, ...installsMetacontroller ? [METACONTROLLER] : []].map(async (path) => {
    const answer = await api.send({ method: "GET", path });
    return isOk(answer) ? lackOf(answer.body as Parameters<typeof lackOf>[0]) : path;
  }));
  return found.filter((one) => one !== undefined);
}

async function runtimeOf({ loader, runtimeImage, signal }: Surroundings): Promise<string> {
  if (runtimeImage !== undefined) return runtimeImage;
  if (loader === undefined) throw new Error("There is no image of the runtime");
  await buildImage(RUNTIME_IMAGE, { file: "deploy/runtime/Containerfile", loader, signal });
  return RUNTIME_IMAGE;
}

/** Opens a port of this machine that leads to the router. */
async function portForward({ kubectl, signal }: Surroundings): Promise<{ child: ChildProcess; url: string }> {
  const args = [...ROUTER, "port-forward", "service/sandbox-router-svc", ":8080"];
  const child = spawn(kubectl.path, [...kubectl.globals, ...args], { signal, stdio: ["ignore", "pipe", "pipe"] });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    const read = (chunk: string) => {
      text += chunk;
      const [, port] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text) ?? [];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    // Also after the promise is settled: an abort during a chapter ends the child, too.
    child.on("error", reject);
    child.once("exit", () => reject(new Error(`Cannot reach the router by a port-forward: ${text.trim()}`)));
  });
  typed(`kubectl ${args.join(" ").replace(" :8080", " 8080")} &`);
  typed(`ROUTER=${url}`);
  return { child, url };
}
