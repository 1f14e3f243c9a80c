/** An example whose sandboxes have an image of their own: built by its Containerfile, pushed, pulled by the node. @module */
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import { type Registry, startRegistry } from "../../dev/containerfiles/registry.ts";
import { localCRDs } from "../../dev/crds.ts";
import type { Loose } from "../integration/namespace.ts";
import { BIN, packedProject, type Project } from "../integration/packed.ts";
import { example, installedBy } from "./installed.ts";

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const manifestOf = (path: string) => JSON.parse(readFileSync(fileOf(path), "utf8"));
const VERSIONS = {
  ...manifestOf("package.json").devDependencies,
  ...manifestOf("packages/sdk/package.json").dependencies,
};
const MINUTE = 60_000;

/** How a program finds its sandboxes: through the router, as somebody who may connect, or by port-forward. */
export const WAYS = ["through the router, as who may connect", "by port-forward"] as const;

/**
 * Installs hookbox, builds the image of an example and applies its YAML; the program is in a project of its own.
 * For use in `describe`.
 *
 * @param name of the example's YAML, pool and program; its image is `hookbox-<name>`
 * @param needs packages that the program imports in addition to the SDK
 */
export function builtExample(name: string, needs: readonly string[]) {
  const installed = installedBy("kubectl", localCRDs());
  const { cluster, kubectl, apply, json } = installed;
  let registry: Registry;
  let project: Project;

  beforeAll(async () => {
    registry = await startRegistry(cluster().stateDir, AbortSignal.timeout(5 * MINUTE));
    const folder = mkdtempSync(join(tmpdir(), `hookbox-${name}-`));
    const args = [name, "--out", join(folder, `${name}.tar`), "--push", registry.address];
    await promisify(execFile)(process.execPath, [fileOf("dev/containerfiles/main.ts"), ...args]);
    rmSync(folder, { recursive: true });
    const image = `hookbox-${name}:local`;
    await apply(example(name).replaceAll(image, `${registry.address}/${image}`));
    project = await packedProject();
    const packages = needs.map((need) => `${need}@${VERSIONS[need]}`);
    await project.run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...packages]);
    copyFileSync(fileOf(`examples/${name}.ts`), join(project.folder, `${name}.ts`));
  }, 30 * MINUTE);

  afterAll(() => registry?.stop());

  /** Has the router find sandboxes by path. Returns variables for a program that asks it as a ServiceAccount which may connect. */
  async function routerFor(account: string): Promise<Record<string, string>> {
    const namespace = ["-n", "agent-sandbox-system"];
    const flag = { op: "add", path: "/spec/template/spec/containers/0/args/-", value: "--path-routing-prefix=/s" };
    await kubectl(...namespace, "patch", "deployment/sandbox-router", "--type=json", "-p", JSON.stringify([flag]));
    await kubectl(...namespace, "rollout", "status", "deployment/sandbox-router", "--timeout=600s");
    const connect = ["--clusterrole=hookbox-sandbox-user", `--serviceaccount=default:${account}`];
    await kubectl("create", "rolebinding", "users", ...connect);
    const { spec } = await json(...["get", "service", "sandbox-router-svc"], ...namespace);
    return {
      HOOKBOX_ROUTER_URL: `http://${spec.clusterIP}:8080`,
      HOOKBOX_ROUTER_PATH_PREFIX: "/s",
      HOOKBOX_TOKEN: (await kubectl("create", "token", account)).trim(),
    };
  }

  /** Runs the program; returns what it printed. */
  async function run(way: (typeof WAYS)[number], ...args: string[]): Promise<string> {
    const router = way === "by port-forward" ? {} : await routerFor("default");
    const env = { KUBECONFIG: cluster().kubeconfig, HOOKBOX_NAMESPACE: "default", ...router };
    return await project.run(join(BIN, "node"), [`${name}.ts`, ...args], env);
  }

  return { ...installed, run };
}

/** Whether all of a pool's members are Ready. */
export function isFull({ spec, status }: Loose): boolean {
  return status?.readyReplicas === spec.replicas;
}
