/** @module */
import { expect, test } from "vitest";
import { parse } from "yaml";
import {
  apiServerArgs,
  controllerManagerArgs,
  etcdArgs,
  renderSchedulerConfig,
} from "../../../dev/cluster/controlplane.ts";

test("apiServerArgs() decide by RBAC, listen only on the given address and use the cluster's own keys", () => {
  const server = {
    address: "127.0.0.1",
    services: "10.96.0.0/16",
    port: 1234,
    etcdUrl: "http://127.0.0.1:1",
    pki: "/pki",
  };
  const args = apiServerArgs(server);
  expect(args).toContain("--authorization-mode=Node,RBAC");
  expect(args).toContain("--bind-address=127.0.0.1");
  expect(args).toContain("--secure-port=1234");
  expect(args).toContain("--service-account-signing-key-file=/pki/sa.key");
  expect(args).toContain("--kubelet-certificate-authority=/pki/ca.crt");
  expect(args.some((arg) => arg.includes("AlwaysAllow") || arg.includes("0.0.0.0"))).toBe(false);
});

test("apiServerArgs() make the API server an endpoint of its Service where a node's Pods reach it", () => {
  const server = { services: "10.228.0.0/24", port: 1, etcdUrl: "http://127.0.0.1:1", pki: "/pki" };
  const none = "--endpoint-reconciler-type=none";
  expect(apiServerArgs({ ...server, address: "127.0.0.1" })).toContain(none);
  const args = apiServerArgs({ ...server, address: "10.200.0.1" });
  expect(args).not.toContain(none);
  expect(args).toContain("--advertise-address=10.200.0.1");
  expect(args).toContain("--service-cluster-ip-range=10.228.0.0/24");
});

test("etcdArgs() keep to loopback and to the ports given", () => {
  const args = etcdArgs({ folder: "/state/etcd", clientPort: 11, peerPort: 22 });
  const urls = args.filter((arg) => arg.includes("url"));
  expect(urls).toHaveLength(4);
  expect(urls.every((arg) => /=http:\/\/127\.0\.0\.1:(11|22)$/.test(arg))).toBe(true);
  expect(args).toContain("--unsafe-no-fsync=true");
});

test("controllerManagerArgs() sign ServiceAccount tokens with the key that the API server trusts", () => {
  const args = controllerManagerArgs({ kubeconfig: "/pki/k", pki: "/pki" });
  expect(args).toContain("--service-account-private-key-file=/pki/sa.key");
  expect(args).toContain("--root-ca-file=/pki/ca.crt");
});

test("renderSchedulerConfig() names its kubeconfig and elects no leader", () => {
  const config = parse(renderSchedulerConfig("/pki/scheduler.kubeconfig"));
  expect(config.clientConnection.kubeconfig).toBe("/pki/scheduler.kubeconfig");
  expect(config.leaderElection).toEqual({ leaderElect: false });
});
