/** Tests of the how-tos, and of how a hook is recorded, typed as they stand on an installation of hookbox. @module */
import { globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { importImages } from "../../dev/cluster/images.ts";
import { importRuntimeImage } from "../../dev/cluster/runtimeimage.ts";
import { readRecord } from "../../dev/cluster/state.ts";
import { stepsOf } from "../../dev/docs/codeblocks.ts";
import { typed } from "../bash.ts";
import { mitmproxyImage } from "../egress/mitmproxy.ts";
import { run } from "../integration/kubectl.ts";
import { startKueue } from "../integration/kueue.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Installed } from "./installed.ts";
import { kubeconfigOf, MAIN } from "./transcript/hookbox.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TRACES = readFileSync(join(ROOT, "test/node/programs/traces.py"), "utf8");
/** The first has a test of its own, because it takes a second cluster. The other one changes the installation. */
const APART = ["docs/howto/two-clusters.md", "docs/howto/e2b.md"];
const pages = [...globSync("docs/howto/*.md", { cwd: ROOT, exclude: APART }).sort(), "docs/replay.md"];

/** What is to fail (`! command`) does not end a bash that ends at the first command that fails. */
const withFailures = (text: string) => text.replaceAll(/^! (.+?)(?: +#.*)?$/gm, "if $1; then exit 99; fi");

/** For use in `describe`. They leave Pods in namespace `default`. */
export function testHowTos({ cluster, kubectl, apply, json }: Installed): void {
  beforeAll(async () => {
    await importRuntimeImage(cluster().stateDir, { progress: () => {} });
    await importImages(cluster().stateDir, [await mitmproxyImage()]);
  });

  /** A folder with what a reader has at hand: the commands, and examples/. */
  function makeDesk(): string {
    const folder = makeTempFolder();
    for (const name of ["examples", "deploy"]) symlinkSync(join(ROOT, name), join(folder, name));
    mkdirSync(join(folder, "bin"));
    symlinkSync(cluster().kubectl, join(folder, "bin/kubectl"));
    writeFileSync(join(folder, "bin/hookbox"), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, {
      mode: 0o755,
    });
    return folder;
  }

  test.for(pages)("%s does what it says", async (page) => {
    const steps = stepsOf(page, readFileSync(join(ROOT, page), "utf8"));
    expect(steps.length).toBeGreaterThan(1);
    const ns = await makeNamespace(cluster());
    if (page === "docs/howto/kueue.md") await startKueue(cluster(), onTestFinished);
    const folder = makeDesk();
    const KUBECONFIG = await kubeconfigOf(ns, folder);
    const env = { ...process.env, KUBECONFIG, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` };
    for (const { line, file, text } of steps) {
      if (file !== undefined) writeFileSync(join(folder, file), text);
      else {
        const { code, output } = await typed(withFailures(text), folder, env);
        expect(code, `${page}:${line}\n${output}`).toBe(0);
      }
    }
    if (page === "docs/howto/egress-proxy.md") await expectNoKey(ns.name);
  });

  /** The key of the page is in no environment, file or memory of its sandbox. What is there is found. */
  async function expectNoKey(namespace: string): Promise<void> {
    const { items } = await json("get", "pods", "-n", namespace, "-l", "agents.x-k8s.io/claim-uid");
    const exec = ["exec", "-i", "-n", namespace, items[0].metadata.name, "-c", "main", "--", "python3", "-"];
    const traces = async (...halves: string[]) => JSON.parse(await run(cluster(), [...exec, ...halves], TRACES));
    expect(await traces("example-5d41", "402abc4b")).toMatchObject({ found: [] });
    const { found, processes } = await traces("HOOKBOX_EGRESS_", "SERVICE_HOST=");
    expect(processes).toBeGreaterThan(0);
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching("environ"), expect.stringMatching("memory")]));
  }

  test("a RuntimeClass has containers started by another runtime", async () => {
    const metadata = (name: string) => ({ name });
    const container = { name: "main", image: "busybox:1.37", command: ["sleep", "600"] };
    const pod = (name: string, more: object) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadata(name),
      spec: { containers: [container], terminationGracePeriodSeconds: 0, ...more },
    });
    await apply(
      JSON.stringify({
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: metadata("other"),
        handler: "crun",
      }),
    );
    await apply(JSON.stringify(pod("usual", {})));
    await apply(JSON.stringify(pod("isolated", { runtimeClassName: "other" })));
    await kubectl("wait", "--for=condition=Ready", "pod/usual", "pod/isolated", "--timeout=600s");
    const { pid } = readRecord(cluster().stateDir)!.realNode!.container!.first;
    const files = async (name: string) => {
      const id = (await json("get", "pod", name)).status.containerStatuses[0].containerID.replace(/^.*\//, "");
      return readdirSync(`/proc/${pid}/root/run/containerd/runc/k8s.io/${id}`);
    };
    // What each keeps of a container.
    expect(await files("usual")).toContain("state.json");
    expect(await files("isolated")).toContain("status");
  });
}
