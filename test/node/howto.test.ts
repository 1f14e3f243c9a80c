/** The how-tos, and how a hook is recorded, typed as they stand on an installation of hookbox. @module */
import { spawn } from "node:child_process";
import { globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { readRecord } from "../../dev/cluster/state.ts";
import { localCRDs } from "../../dev/crds.ts";
import { stepsOf } from "../../dev/docs/steps.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { hasRealNode } from "../integration/suite.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { installedBy } from "./installed.ts";
import { kubeconfigOf, MAIN } from "./transcript/hookbox.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const pages = [...globSync("docs/howto/*.md", { cwd: ROOT }).sort(), "docs/replay.md"];

/**
 * Types commands into bash, which ends at the first that fails; returns its exit code and all that it printed. What is
 * to fail (`! command`) would not end it.
 */
function typed(text: string, folder: string, kubeconfig: string): Promise<{ code: number; output: string }> {
  const script = text.replaceAll(/^! (.+?)(?: +#.*)?$/gm, "if $1; then exit 99; fi");
  const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` };
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-euo", "pipefail", "-c", `exec 2>&1\n${script}`], {
      cwd: folder,
      env,
      timeout: 150_000,
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (part) => output += part);
    child.once("error", reject).once("close", (code) => resolve({ code: code ?? -1, output }));
  });
}

describe.runIf(hasRealNode)("how-tos", () => {
  const { cluster, kubectl, apply, json } = installedBy("kubectl", localCRDs());

  /** A folder with what a reader has at hand: the commands, and examples/. */
  function makeDesk(): string {
    const folder = makeTempFolder();
    symlinkSync(join(ROOT, "examples"), join(folder, "examples"));
    mkdirSync(join(folder, "bin"));
    symlinkSync(cluster().kubectl, join(folder, "bin/kubectl"));
    writeFileSync(join(folder, "bin/hookbox"), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, {
      mode: 0o755,
    });
    return folder;
  }

  test.for(pages)("%s does what it says", { timeout: 300_000 }, async (page) => {
    const steps = stepsOf(page, readFileSync(join(ROOT, page), "utf8"));
    expect(steps.length).toBeGreaterThan(1);
    const ns = await makeNamespace(cluster());
    const folder = makeDesk();
    const kubeconfig = await kubeconfigOf(ns, folder);
    for (const { line, file, text } of steps) {
      if (file !== undefined) writeFileSync(join(folder, file), text);
      else {
        const { code, output } = await typed(text, folder, kubeconfig);
        expect(code, `${page}:${line}\n${output}`).toBe(0);
      }
    }
  });

  test("a RuntimeClass has containers started by another runtime", { timeout: 120_000 }, async () => {
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
    await kubectl("wait", "--for=condition=Ready", "pod/usual", "pod/isolated", "--timeout=60s");
    const { pid } = readRecord(cluster().stateDir)!.realNode!.container!.first;
    const files = async (name: string) => {
      const id = (await json("get", "pod", name)).status.containerStatuses[0].containerID.replace(/^.*\//, "");
      return readdirSync(`/proc/${pid}/root/run/containerd/runc/k8s.io/${id}`);
    };
    // What each keeps of a container.
    expect(await files("usual")).toContain("state.json");
    expect(await files("isolated")).toContain("status");
  });
});
