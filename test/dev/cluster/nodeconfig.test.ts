/** @module */
import { expect, test } from "vitest";
import { parse } from "yaml";
import {
  PAUSE_IMAGE,
  renderContainerdConfig,
  renderKubeletConfig,
  renderNetwork,
  renderRunc,
} from "../../../dev/cluster/nodeconfig.ts";

const PATHS = {
  cniConfig: "/state with space/cni",
  cniPlugins: "/usr/lib/cni",
  runc: "/state/runc",
  shim: "/cache/shim",
};

test("renderContainerdConfig() names our runtime, pause image, network and snapshotter", () => {
  const lines = renderContainerdConfig(PATHS, "native").split("\n");
  expect(lines[0]).toBe("version = 3");
  expect(lines).toContain(`sandbox = "${PAUSE_IMAGE}"`);
  expect(lines).toContain('snapshotter = "native"');
  expect(lines).toContain('runtime_path = "/cache/shim"');
  expect(lines).toContain('BinaryName = "/state/runc"');
  expect(lines).toContain('conf_dir = "/state with space/cni"');
  expect(lines).toContain("restrict_oom_score_adj = true");
  expect(lines).toContain("netns_mounts_under_state_dir = true");
});

test("renderKubeletConfig() lets in nobody but holders of this cluster's certificates, and leaves the machine alone", () => {
  const config = parse(renderKubeletConfig({ pki: "/pki", address: "10.200.0.1", resolvConf: "" }));
  expect(config.authentication).toEqual({
    anonymous: { enabled: false },
    webhook: { enabled: false },
    x509: { clientCAFile: "/pki/ca.crt" },
  });
  expect(config).toMatchObject({
    address: "10.200.0.1",
    failCgroupV1: false,
    failSwapOn: false,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
  });
});

test("renderNetwork() gives Pods a bridge and a way out without changing the machine's forwarding or firewall", () => {
  const network = { name: "hookbox-1", bridge: "hb-1", subnet: "10.200.0.0/24", gateway: "10.200.0.1" };
  const [plugin, ...others] = JSON.parse(renderNetwork(network)).plugins;
  expect(others).toEqual([]);
  expect(plugin).toEqual({
    type: "bridge",
    bridge: "hb-1",
    ipam: {
      type: "host-local",
      ranges: [[{ subnet: "10.200.0.0/24", gateway: "10.200.0.1" }]],
      routes: [{ dst: "0.0.0.0/0" }],
    },
  });
});

test("renderRunc() opens volumes when a container is created and passes everything on", () => {
  const script = renderRunc("/usr/sbin/runc");
  expect(script).toMatch(/^#!\/bin\/sh\n/);
  expect(script).toContain('*" create "*) chmod -f 0777 /tmp/hostpath_pv/*');
  expect(script.trimEnd().split("\n").at(-1)).toBe('exec /usr/sbin/runc "$@"');
});
