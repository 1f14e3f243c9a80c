/** The dashboard in a real browser, on an API server in memory. @module */
import { globSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { build } from "vite";
import { onTestFinished } from "vitest";
import { withLock } from "../../dev/cluster/lock.ts";
import { variable } from "../../packages/process/runprocess.ts";
import { readOptions } from "../../packages/runtime/options.ts";
import { startRuntime } from "../../packages/runtime/start.ts";
import { eventually } from "../eventually.ts";
import { type FakeApi, refusal } from "../kube/fakeapi.ts";
import { serveApi } from "../kube/servedapi.ts";
import { startMain } from "../mainprocess.ts";
import { makeTempFolder, useHome } from "../tempfolder.ts";
import { fill } from "./objects.ts";
import { type Shown, signIn } from "./signin.ts";
import { FREE_PORTS } from "../runtime/freeports.ts";

const PACKAGES = fileURLToPath(new URL("../../packages", import.meta.url));
const PAGE = join(PACKAGES, "dashboard");

/** Builds the page, unless it is newer than its sources: other test files may be using it. */
export function buildPage(): Promise<void> {
  return withLock(`build ${PAGE}`, async () => {
    const sources = globSync("{api,dashboard,kube,process,runtime-api,sdk,summary}/**/*.{ts,tsx,css,html,json,svg}", {
      cwd: PACKAGES,
      exclude: ["**/node_modules/**", "**/dist/**"],
    });
    const changedAt = Math.max(...sources.map((file) => statSync(join(PACKAGES, file)).mtimeMs));
    const builtAt = statSync(join(PAGE, "dist/index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (builtAt < changedAt) await build({ root: PAGE });
  });
}

/** A dashboard, and the API server that it shows. */
export interface InMemory extends Shown {
  api: FakeApi;
}

/**
 * Opens the dashboard of an API server in memory, and signs in.
 *
 * @param fill makes the objects that are there from the beginning, and sets what the server refuses the user
 * @param hash what the page shows first, such as `#/pools`
 * @param flags of the router, and of the browser
 */
export async function openInMemory(
  fill: (api: FakeApi) => void,
  hash = "",
  flags: { router?: string[]; browser?: string[] } = {},
): Promise<InMemory> {
  await buildPage();
  const { api, kubeconfig } = await serveApi();
  fill(api);
  const refuse = api.intercept;
  // The router may do everything: it starts when it has listed all Sandboxes and Pods.
  api.intercept = () => undefined;
  const access = flags.router?.includes("--authz-mode") ? [] : ["--authz-mode", "allow-all"];
  const args = ["packages/router/main.ts", "--kubeconfig", kubeconfig, "--port", "0", ...access, ...flags.router ?? []];
  // A test may serve a runtime on this machine.
  const router = await startMain("node", [...args, "--allow-loopback-pod-ip"], "Serving");
  const [{ port }] = router.said("Serving") as [{ port: number }];
  const review = { status: { userInfo: { username: "someone" } } };
  api.intercept = (request) =>
    request.path.endsWith("/selfsubjectreviews") ? { status: 201, body: review } : refuse(request);
  const url = `http://127.0.0.1:${port}/.hookbox/${hash}`;
  return { api, ...await signIn(url, "any", ...flags.browser ?? []) };
}

/** Opens the dashboard of the objects that `fill` of objects.ts makes. @param podIP address of the claim's Pod */
export function openFilled(hash: string, podIP?: string): Promise<InMemory> {
  return openInMemory((api) => fill(api, podIP), `#/${hash}`);
}

function ago(seconds: number): string {
  return new Date(Date.now() - 1000 * seconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Makes a condition. @param reason empty: it is True */
export function condition(type: string, reason: string) {
  const status = reason === "" ? "True" : "False";
  return { type, status, reason: reason || "DependenciesReady", message: "…", lastTransitionTime: ago(10) };
}

interface Made {
  namespace?: string;
  /** In seconds. */
  age?: number;
  metadata?: object;
  spec?: object;
  conditions?: object[];
  /** Spec and status of its Pod; absent: it has none. */
  pod?: object;
}

/** Creates or replaces a Sandbox, and its Pod. */
export function putSandbox(
  api: FakeApi,
  name: string,
  { namespace = "team-a", age = 20, metadata, spec, conditions, pod }: Made,
): void {
  const path = pathOf("sandboxes", name, namespace);
  const podTemplate = { spec: { containers: [{ name: "main", image: "tool:1" }] } };
  const isReady = pod !== undefined && JSON.stringify(pod).includes('"ready":true');
  const { metadata: { uid } } = api.put(path, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace, creationTimestamp: ago(age), ...metadata },
    spec: { podTemplate, ...spec },
    status: { conditions: conditions ?? [condition("Ready", isReady ? "" : "DependenciesNotReady")] },
  });
  if (!pod) return;
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
  const labels = { "agents.x-k8s.io/sandbox-name-hash": "x" };
  api.put(`/api/v1/namespaces/${namespace}/pods/${name}`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, creationTimestamp: ago(age), labels, ownerReferences: [owner] },
    ...pod,
  });
}

/** The spec and status of a Pod that is Ready. */
export function runningPod() {
  const conditions = [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: "True" }];
  const state = { running: { startedAt: ago(10) } };
  const containerStatuses = [{ name: "main", ready: true, restartCount: 0, state }];
  return { spec: { nodeName: "node-1" }, status: { phase: "Running", conditions, containerStatuses } };
}

/** The Pod of a container that runs for two seconds and ends with exit code 3, again and again. */
export function crashedPod(restartCount: number, state: "running" | "ended" | "waiting") {
  const ended = { terminated: { exitCode: 3, reason: "Error", startedAt: ago(22), finishedAt: ago(20) } };
  const states = {
    running: { running: { startedAt: ago(1) } },
    ended,
    waiting: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } },
  };
  const ready = state === "running";
  const conditions = [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: ready ? "True" : "False" }];
  const containerStatuses = [{ name: "main", ready, restartCount, state: states[state], lastState: ended }];
  return { spec: { nodeName: "node-1" }, status: { phase: "Running", conditions, containerStatuses } };
}

/** The spec and status of a Pod for which no node is large enough. */
export function unschedulablePod() {
  const message = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available";
  const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
  return { spec: {}, status: { phase: "Pending", conditions } };
}

/** Path of an object on the API server. */
export function pathOf(resource: "sandboxes" | "sandboxclaims", name: string, namespace = "team-a"): string {
  const group = resource === "sandboxes" ? "agents.x-k8s.io" : "extensions.agents.x-k8s.io";
  return `/apis/${group}/v1beta1/namespaces/${namespace}/${resource}/${name}`;
}

/** Refuses the requests whose path ends like this, as an API server refuses what a user may not do. */
export function refuse(api: FakeApi, path: string): void {
  const resource = path.split("/").at(-1);
  answer(
    api,
    path,
    refusal(403, `${resource} is forbidden: User "someone" cannot list resource "${resource}" in API group ""`),
  );
}

/** Answers requests whose path ends like this. */
export function answer(api: FakeApi, path: string, given: ReturnType<typeof refusal>): void {
  const before = api.intercept;
  api.intercept = (request) => request.path.endsWith(path) ? given : before(request);
}

/**
 * Starts a runtime where the router expects that of a Pod.
 *
 * @param how whether the folder is all that it serves, or its working directory
 * @returns the address, and the folder with these files
 */
export async function serveInside(
  files: Record<string, string | Uint8Array>,
  how: "root" | "workdir" = "root",
): Promise<{ ip: string; root: string }> {
  const root = makeTempFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content);
  useHome();
  // The port is the same for all runtimes, so each has an address of its own.
  const ip = `127.${[1, 2, 3].map(() => 1 + Math.floor(Math.random() * 250)).join(".")}`;
  const ports = [...FREE_PORTS, "--rest-port", "8080"];
  const runtime = await startRuntime(readOptions([`--${how}`, root, "--host", ip, ...ports], variable)!, () => {});
  onTestFinished(() => runtime.stop());
  return { ip, root };
}

/** Returns the part of the page's address after the "#". */
export function hashOf(page: Page): string {
  return new URL(page.url()).hash;
}

/** Finds a row by how its text begins. */
export function rowOf(page: Page, name: string): Locator {
  const words = name.replace(/[()]/g, "\\$&");
  return page.getByRole("row", { name: new RegExp(`^${words}( |$)`) });
}

/** Waits until the rows are those of these objects, in this order. */
export function expectNames(page: Page, names: string[]) {
  return eventually(() => page.locator("[role=row] a").allInnerTexts()).toEqual(names);
}

/** Waits until the elements have these texts, in this order. */
export function expectTexts(all: Locator, texts: string[]) {
  return eventually(async () => (await all.allInnerTexts()).map((text) => text.trim().replace(/\s+/g, " "))).toEqual(
    texts,
  );
}
