/** @module */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { executableName } from "../../../dev/cluster/binaries.ts";
import {
  cacheKey,
  CONTAINERD,
  CONTOUR,
  CONTROL_PLANE,
  DNS,
  HELM,
  KUEUE,
  linkerFlags,
  NODE,
  requiredVersion,
  SIMULATED_NODES,
} from "../../../dev/cluster/programs.ts";

const read = (path: string) => readFileSync(new URL(`../../../dev/cluster/${path}`, import.meta.url), "utf8");

const GO_MOD = `module example

require (
	example.com/c/d v1.0.0
	example.com/c v1.1.0
	example.com/a v1.2.3
	example.com/a/b/v2 v2.0.1 // indirect
)

require example.com/alone v0.1.0
`;

test.for([
  ["example.com/a", "v1.2.3"],
  ["example.com/a/cmd/x", "v1.2.3"],
  ["example.com/a/b/v2/cmd/y", "v2.0.1"],
  ["example.com/c/d/cmd", "v1.0.0"],
  ["example.com/alone/cmd", "v0.1.0"],
])("requiredVersion() finds %s at %s", ([goPackage = "", version]) => {
  expect(requiredVersion(GO_MOD, goPackage)).toBe(version);
});

test("requiredVersion() does not take a module whose name only begins alike", () => {
  expect(() => requiredVersion(GO_MOD, "example.com/abc")).toThrow(RangeError);
});

test("linkerFlags() give Kubernetes its version, major and minor", () => {
  const flags = linkerFlags("v1.36.3").split(" ");
  expect(flags).toContain("k8s.io/component-base/version.gitVersion=v1.36.3");
  expect(flags).toContain("k8s.io/component-base/version.gitMajor=1");
  expect(flags).toContain("k8s.io/component-base/version.gitMinor=36");
});

describe("cacheKey()", () => {
  const build = { module: ".", goMod: "a", goSum: "b", flags: "c", target: "linux-x64" };

  test("is the same for the same build and names the module", () => {
    expect(cacheKey(build)).toBe(cacheKey({ ...build }));
    expect(cacheKey(build)).toMatch(/^kubernetes-[0-9a-f]{16}$/);
    expect(cacheKey({ ...build, module: "containerd" })).toMatch(/^containerd-[0-9a-f]{16}$/);
  });

  test.for(["goMod", "goSum", "flags", "target"] as const)("changes with %s", (part) => {
    expect(cacheKey({ ...build, [part]: "other" })).not.toBe(cacheKey(build));
  });

  test("tells apart what only looks alike when joined", () => {
    expect(cacheKey({ ...build, goMod: "ab", goSum: "" })).not.toBe(cacheKey({ ...build, goMod: "a", goSum: "b" }));
  });
});

test.for([
  ["go.etcd.io/etcd/server/v3", "server"],
  ["k8s.io/kubernetes/cmd/kubelet", "kubelet"],
  ["github.com/containerd/containerd/v2/cmd/ctr", "ctr"],
])("executableName(%s) is %s", ([goPackage = "", name]) => {
  expect(executableName(goPackage)).toBe(name);
});

test.for([CONTROL_PLANE, SIMULATED_NODES, NODE, CONTAINERD, CONTOUR, HELM, KUEUE])(
  "go.mod pins the tools of $title",
  (group) => {
    const goMod = read(`${group.module}/go.mod`);
    for (const goPackage of Object.values(group.packages)) {
      expect(goMod).toMatch(new RegExp(`^(?:tool |\\t)${goPackage.replaceAll(".", "\\.")}$`, "m"));
      expect(requiredVersion(goMod, goPackage)).toMatch(/^v\d+\.\d+\.\d+$/);
    }
  },
);

test("every staging module is replaced by the release that goes with k8s.io/kubernetes", () => {
  const goMod = read("go.mod");
  const release = requiredVersion(goMod, "k8s.io/kubernetes").replace(/^v1\./, "v0.");
  const replaced = [...goMod.matchAll(/^\t(k8s\.io\/\S+) => (\S+) (\S+)$/gm)].map(([, from, to, version]) => ({
    same: from === to,
    version,
  }));
  expect(replaced.length).toBeGreaterThan(25);
  expect(replaced.filter(({ same, version }) => !same || version !== release)).toEqual([]);
});

test("our own DNS server has the version of CoreDNS that go.mod pins", () => {
  expect(requiredVersion(read(`${DNS.module}/go.mod`), DNS.versionOf ?? "")).toMatch(/^v\d+\.\d+\.\d+$/);
});
