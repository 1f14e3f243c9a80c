/** A browser in sandboxes: its image, built by its Containerfile and pulled by the node, and the example that drives it. @module */
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Registry, startRegistry } from "../../dev/containerfiles/registry.ts";
import { localCRDs } from "../../dev/crds.ts";
import { until } from "../integration/kubectl.ts";
import type { Loose } from "../integration/namespace.ts";
import { BIN, packedProject, type Project } from "../integration/packed.ts";
import { hasRealNode } from "../integration/suite.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { example, installedBy } from "./installed.ts";

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const { devDependencies } = JSON.parse(readFileSync(fileOf("package.json"), "utf8"));
const MINUTE = 60_000;
/** What every PNG begins with, and where it says how wide and how high it is. Source: PNG, sections 5.2 and 11.2.1. */
const PNG = { signature: "89504e470d0a1a0a", width: 16, height: 20 };

describe.runIf(hasRealNode)("a browser in a sandbox", () => {
  const { cluster, kubectl, apply, json } = installedBy("kubectl", localCRDs());
  let registry: Registry;
  let project: Project;

  beforeAll(async () => {
    registry = await startRegistry(cluster().stateDir, AbortSignal.timeout(5 * MINUTE));
    const folder = mkdtempSync(join(tmpdir(), "hookbox-browser-"));
    const args = ["browser", "--out", join(folder, "browser.tar"), "--push", registry.address];
    await promisify(execFile)(process.execPath, [fileOf("dev/containerfiles/main.ts"), ...args]);
    rmSync(folder, { recursive: true });
    const image = "hookbox-browser:local";
    await apply(example("browser").replaceAll(image, `${registry.address}/${image}`));
    project = await packedProject();
    const driver = `playwright-core@${devDependencies["playwright-core"]}`;
    await project.run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", driver]);
    copyFileSync(fileOf("examples/browser.ts"), join(project.folder, "browser.ts"));
  }, 30 * MINUTE);

  afterAll(() => registry?.stop());

  test.for(["through the router, as who may connect", "by port-forward"])(
    "the example drives it %s",
    { timeout: 10 * MINUTE },
    async (way) => {
      await until(() => json("get", "sandboxwarmpool", "browser"), isFull, 300);
      const router = way === "by port-forward" ? {} : await routerFor("default");
      const picture = join(makeTempFolder(), "page.png");
      const env = { KUBECONFIG: cluster().kubeconfig, HOOKBOX_NAMESPACE: "default", ...router };
      const output = await project.run(join(BIN, "node"), ["browser.ts", picture], env);
      expect(output).toMatch(/^Clicks: 1\n\S+ shows it, by Chromium \d+\.[\d.]+\n$/);
      const bytes = readFileSync(picture);
      expect(bytes.subarray(0, 8).toString("hex")).toBe(PNG.signature);
      expect([bytes.readUInt32BE(PNG.width), bytes.readUInt32BE(PNG.height)]).toEqual([1280, 720]);
      await until(() => json("get", "sandboxclaims"), ({ items }) => items.length === 0);
    },
  );

  test("a browser that dies is started again, and the runtime beside it goes on", async () => {
    await until(() => json("get", "sandboxwarmpool", "browser"), isFull, 300);
    const { items: [{ metadata: { name } }] } = await json("get", "pods");
    // The first of its processes: the others go with it.
    await kubectl("exec", name, "-c", "browser", "--", "pkill", "-KILL", "-o", "-f", "/usr/lib/chromium/");
    const { status } = await until(
      () => json("get", "pod", name),
      ({ status }) => restarts(status) > 0 && isReady(status),
    );
    const counts = status.containerStatuses.map((one: Loose) => [one.name, one.restartCount]);
    expect(Object.fromEntries(counts)).toEqual({ main: 0, browser: 1 });
  });

  const isReady = ({ containerStatuses }: Loose) => containerStatuses.every(({ ready }: Loose) => ready);
  const restarts = ({ containerStatuses }: Loose) =>
    containerStatuses.reduce((sum: number, { restartCount }: Loose) => sum + restartCount, 0);
  const isFull = ({ spec, status }: Loose) => status?.readyReplicas === spec.replicas;

  /** Has the router find sandboxes by path. @returns variables for a program that asks it as a ServiceAccount which may connect */
  async function routerFor(account: string): Promise<Record<string, string>> {
    const namespace = ["-n", "agent-sandbox-system"];
    const flag = { op: "add", path: "/spec/template/spec/containers/0/args/-", value: "--path-routing-prefix=/s" };
    await kubectl(...namespace, "patch", "deployment/sandbox-router", "--type=json", "-p", JSON.stringify([flag]));
    await kubectl(...namespace, "rollout", "status", "deployment/sandbox-router", "--timeout=180s");
    const connect = ["--clusterrole=hookbox-sandbox-user", `--serviceaccount=default:${account}`];
    await kubectl("create", "rolebinding", "users", ...connect);
    const { spec } = await json(...["get", "service", "sandbox-router-svc"], ...namespace);
    return {
      HOOKBOX_ROUTER_URL: `http://${spec.clusterIP}:8080`,
      HOOKBOX_ROUTER_PATH_PREFIX: "/s",
      HOOKBOX_TOKEN: (await kubectl("create", "token", account)).trim(),
    };
  }
});
