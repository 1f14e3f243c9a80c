/** @module */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import {
  PAUSE_IMAGE,
  renderContainerdConfig,
  renderDnsConfig,
  renderKubeletConfig,
  renderNetwork,
  renderProxyConfig,
  renderRuntime,
} from "../../../dev/cluster/nodeconfig.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const PATHS = {
  cniConfig: "/state with space/cni",
  cniPlugins: "/usr/lib/cni",
  registries: "/state/registries",
  runc: "/state/runc",
  crun: "/state/crun",
  shim: "/cache/shim",
};

const NETWORK = {
  bridge: "hb-1",
  subnet: "10.200.0.0/24",
  machine: "10.200.0.1",
  node: "10.200.0.2",
  services: "10.228.0.0/24",
};
const NODE = { pki: "/pki", address: NETWORK.node, clusterDomain: "cluster.local" };

test("renderContainerdConfig() names our runtimes, pause image, network and snapshotter", () => {
  const lines = renderContainerdConfig(PATHS, "native").split("\n");
  expect(lines[0]).toBe("version = 3");
  expect(lines).toContain(`sandbox = "${PAUSE_IMAGE}"`);
  expect(lines).toContain('snapshotter = "native"');
  expect(lines).toContain('config_path = "/state/registries"');
  expect(lines).toContain('runtime_path = "/cache/shim"');
  expect(lines).toContain('BinaryName = "/state/runc"');
  expect(lines).toContain('[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.crun]');
  expect(lines).toContain('BinaryName = "/state/crun"');
  expect(lines).toContain('conf_dir = "/state with space/cni"');
  expect(lines).toContain("restrict_oom_score_adj = true");
  expect(lines).toContain("netns_mounts_under_state_dir = true");
});

test("renderKubeletConfig() lets in nobody but holders of this cluster's certificates, and leaves the machine alone", () => {
  const config = parse(renderKubeletConfig({ ...NODE, resolvConf: "" }));
  expect(config.authentication).toEqual({
    anonymous: { enabled: false },
    webhook: { enabled: false },
    x509: { clientCAFile: "/pki/ca.crt" },
  });
  expect(config).toMatchObject({
    address: "10.200.0.2",
    clusterDNS: ["10.200.0.2"],
    clusterDomain: "cluster.local",
    failCgroupV1: false,
    failSwapOn: false,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
  });
});

test("renderNetwork() gives each Pod a cable of its own to the node, and an address that is nobody else's", () => {
  const [plugin, ...others] = JSON.parse(renderNetwork("hookbox", NETWORK)).plugins;
  expect(others).toEqual([]);
  expect(plugin).toEqual({
    type: "ptp",
    ipam: {
      type: "host-local",
      ranges: [[{ subnet: "10.200.0.0/24", rangeStart: "10.200.0.3", gateway: "10.200.0.2" }]],
      routes: [{ dst: "0.0.0.0/0" }],
    },
  });
});

test("renderProxyConfig() takes nftables, knows its own Pods, and leaves the machine's connection tracking alone", () => {
  expect(parse(renderProxyConfig({ kubeconfig: "/pki/k", nodeName: "real-0", network: NETWORK }))).toMatchObject({
    mode: "nftables",
    clusterCIDR: "10.200.0.0/24",
    hostnameOverride: "real-0",
    conntrack: { maxPerCore: 0 },
  });
});

test("renderDnsConfig() listens on the node's address alone, and asks others only where there are some", () => {
  const dns = { kubeconfig: "/pki/k", address: "10.200.0.2", domain: "cluster.local", forward: undefined };
  const config = renderDnsConfig(dns);
  expect(config).toContain("bind 10.200.0.2\n");
  expect(config).toContain("kubernetes cluster.local ");
  expect(config).not.toContain("forward");
  expect(renderDnsConfig({ ...dns, forward: "/etc/resolv.conf" })).toContain("  forward . /etc/resolv.conf\n}");
});

test("renderRuntime() opens volumes when a container is created and passes everything on", () => {
  const script = renderRuntime("runc", "/usr/sbin/runc");
  expect(script).toMatch(/^#!\/bin\/sh\n/);
  expect(script).toContain('*" create "*)\n  chmod -f 0777 /tmp/hostpath_pv/*');
  expect(script).not.toContain("ociVersion");
  expect(script.trimEnd().split("\n").at(-1)).toBe('exec /usr/sbin/runc "$@"');
});

test("renderRuntime() has crun take a bundle of a version that it does not know", () => {
  const folder = makeTempFolder();
  const config = join(folder, "config.json");
  writeFileSync(config, '{"ociVersion":"1.3.0","process":{}}');
  const [program, script] = [join(folder, "program"), join(folder, "crun")];
  writeFileSync(program, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  writeFileSync(script, renderRuntime("crun", program), { mode: 0o755 });
  const args = ["--root", "/run/x", "create", "--bundle", folder, "--pid-file", "p", "id"];
  expect(execFileSync(script, args, { encoding: "utf8" })).toBe(`${args.join(" ")}\n`);
  expect(readFileSync(config, "utf8")).toBe('{"ociVersion":"1.0.2","process":{}}');
});
