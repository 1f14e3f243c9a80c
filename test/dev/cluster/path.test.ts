/** @module */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { programOnPath, versionFits } from "../../../dev/cluster/binaries.ts";

test.for(
  [
    ["etcd", "etcd Version: 3.5.21\nGit SHA: a17edfd", true],
    ["etcd", "etcd Version: 3.7.3", true],
    ["etcd", "etcd Version: 3.4.23", false],
    ["kube-apiserver", "Kubernetes v1.36.0", true],
    ["kube-apiserver", "Kubernetes v1.35.9", false],
    ["kubectl", "Client Version: v1.36.3\nKustomize Version: v5.8.1", true],
    ["kubectl", "Client Version: v1.3.6", false],
    ["kubectl", "", false],
  ] as const,
)("versionFits(%s, %j) is %s", ([name, output, fits]) => {
  expect(versionFits(name, output, "v1.36.3")).toBe(fits);
});

describe("programOnPath()", () => {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-path-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const say = (name: string, text: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
  say("etcd", "etcd Version: 3.6.1");
  say("kubectl", "Client Version: v1.20.0");
  say("kubelet", "Kubernetes v1.36.3");
  writeFileSync(join(folder, "kube-apiserver"), "not executable", { mode: 0o644 });

  test("takes what fits from the PATH", () => {
    expect(programOnPath("etcd", "v1.36.3", { PATH: folder })).toBe(join(folder, "etcd"));
  });

  test.for(["kubectl", "kube-apiserver", "kubelet"])("does not take %s from the PATH", (name) => {
    expect(programOnPath(name, "v1.36.3", { PATH: folder })).toBeUndefined();
  });

  test("takes any version from KUBEBUILDER_ASSETS, but only the programs that belong there", () => {
    const env = { PATH: "", KUBEBUILDER_ASSETS: folder };
    expect(programOnPath("kubectl", "v1.36.3", env)).toBe(join(folder, "kubectl"));
    expect(programOnPath("kubelet", "v1.36.3", env)).toBeUndefined();
  });
});
