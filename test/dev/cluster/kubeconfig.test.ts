/** @module */
import { Buffer } from "node:buffer";
import { KubeConfig } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { renderKubeconfig } from "../../../dev/cluster/controlplane.ts";

test("renderKubeconfig() gives what a Kubernetes client needs to connect", () => {
  const config = new KubeConfig();
  config.loadFromString(renderKubeconfig({ server: "https://127.0.0.1:1234", ca: "PEM\n", token: "secret" }));
  expect(config.getCurrentCluster()?.server).toBe("https://127.0.0.1:1234");
  expect(Buffer.from(config.getCurrentCluster()?.caData ?? "", "base64").toString()).toBe("PEM\n");
  expect(config.getCurrentCluster()?.skipTLSVerify).toBeFalsy();
  expect(config.getCurrentUser()?.token).toBe("secret");
});
