/** The image that agents work in: built by its Containerfile, pushed to a registry, pulled by the node, and worked in. @module */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localCRDs } from "../../dev/crds.ts";
import { type Registry, startRegistry } from "../../dev/containerfiles/registry.ts";
import { sleeper } from "../integration/namespace.ts";
import { hasRealNode } from "../integration/suite.ts";
import { installedBy } from "../node/installed.ts";

const BUILD = fileURLToPath(new URL("../../dev/containerfiles/main.ts", import.meta.url));
const MINUTE = 60_000;

describe.runIf(hasRealNode)("the image for agents", () => {
  const { cluster, kubectl, apply } = installedBy("kubectl", localCRDs());
  let registry: Registry;
  let sbom: { components: { name: string; version?: string }[] };
  const inside = (script: string) => kubectl("exec", "agent", "--", "bash", "-c", script);

  beforeAll(async () => {
    registry = await startRegistry(cluster().stateDir, AbortSignal.timeout(5 * MINUTE));
    const out = join(mkdtempSync(join(tmpdir(), "hookbox-agent-")), "agent.tar");
    const args = [BUILD, "agent", "--out", out, "--push", registry.address, "--sbom"];
    await promisify(execFile)(process.execPath, args);
    sbom = JSON.parse(readFileSync(out.replace(/\.tar$/, ".cdx.json"), "utf8"));
    const image = `${registry.address}/hookbox-agent:local`;
    const readinessProbe = { httpGet: { path: "/v1/health", port: 8080 }, periodSeconds: 1 };
    const container = { name: "main", image, imagePullPolicy: "Always", readinessProbe };
    await apply(JSON.stringify(sleeper("agent", {}, { containers: [container] })));
    await kubectl("wait", "--for=condition=Ready", "sandbox/agent", "--timeout=600s");
  }, 30 * MINUTE);

  afterAll(() => registry?.stop());

  test("runs as a user with a name and a home, in a folder that it may write to", async () => {
    expect(await inside("id -u; id -un; echo ~; pwd; echo kept > note && cat note"))
      .toBe("1000\nuser\n/home/user\n/workspace\nkept\n");
    expect(await inside("echo kept > ~/note && cat ~/note")).toBe("kept\n");
  });

  test("sudo makes it root, where the Pod allows that", async () => {
    expect(await inside("sudo id -u")).toBe("0\n");
  });

  test("computes and draws in Python", async () => {
    const script = "import numpy, pandas, matplotlib.pyplot as plt; plt.plot(numpy.arange(9)); plt.savefig('p.png'); " +
      "print(pandas.DataFrame({'x': numpy.arange(4)}).x.sum())";
    expect(await inside(`python3 -c "${script}" && head -c 4 p.png | tail -c 3`)).toBe("6\nPNG");
    expect(await inside("pip --version")).toMatch(/^pip \d/);
    expect(await inside("python -c 'import IPython.display, plotly.express, scipy, sympy; print(1)'")).toBe("1\n");
    expect(await inside("python -m venv v && v/bin/python -m pip --version")).toMatch(/^pip \d/);
  });

  test("shows figures and tables to E2B's clients, in the home directory", async () => {
    const code = "import os, matplotlib.pyplot as plt, pandas; plt.boxplot([1, 2, 9]); plt.show(); " +
      "pandas.DataFrame({os.getcwd(): [1]})";
    const said = await inside(`curl -s localhost:49999/execute -d '${JSON.stringify({ code })}'`);
    const lines = said.trim().split("\n").map((line) => JSON.parse(line));
    expect(lines.filter(({ type }) => type === "result")).toMatchObject([
      { chart: { type: "box_and_whisker", elements: [{ median: 2 }] } },
      { data: { "/home/user": [1] } },
    ]);
  });

  test("has Node, and compiles what packages bring", async () => {
    expect(await inside("node --version")).toMatch(/^v24\./);
    expect(await inside("echo 'const x: number = 5; console.log(x)' > a.ts && tsc a.ts && node a.js")).toBe("5\n");
    expect(await inside("echo 'int main(){return 7;}' > a.c && cc a.c -o a; ./a; echo $?")).toBe("7\n");
  });

  test.each(["git", "curl", "rg", "grep", "find", "make", "jq", "less", "unzip", "npm", "g++"])(
    "has %s",
    async (program) => {
      expect(await inside(`command -v ${program}`)).toMatch(new RegExp(`/${program}\n$`));
    },
  );

  test("grep and find are GNU's", async () => {
    expect(await inside("grep --version; find --version")).toMatch(/GNU grep[^]*GNU findutils/);
  });

  test("its bill of materials names what is in it", () => {
    const versions = new Map(sbom.components.map(({ name, version }) => [name, version]));
    for (const name of ["python3-numpy", "ripgrep", "hono", "node", "typescript", "plotly"]) {
      expect(versions.get(name), name).toMatch(/\d/);
    }
  });
});
