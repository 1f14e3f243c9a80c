/** `kubectl port-forward` to the router of an installation, alone in its Pod and with a proxy that was injected. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { fetchFrom } from "../router/client.ts";
import { until } from "../integration/kubectl.ts";
import type { Installed } from "./installed.ts";

const NAMESPACE = "agent-sandbox-system";
const PROXY_PORT = 9999;

/** Declares the tests; the Sandbox `demo` of namespace `default` runs. */
export function testPortForward({ cluster, kubectl, json }: Installed): void {
  const ask = async (address: string) => {
    const [host, port] = address.split(":");
    // A stranger would send this Host to be taken for a client of port-forward.
    const headers = { Host: "localhost", "X-Sandbox-ID": "demo", "X-Sandbox-Namespace": "default" };
    const { status, text } = await fetchFrom(Number(port), { host, headers });
    return { status, text };
  };
  /** Forwards a port as the published clients do, until the test ends. @returns host and port */
  const forwarded = async () => {
    const { kubectl: program, kubeconfig } = cluster();
    const args = ["port-forward", "-n", NAMESPACE, "service/sandbox-router-svc", ":8080"];
    const child = spawn(program, ["--kubeconfig", kubeconfig, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill());
    const [line] = await once(createInterface(child.stdout), "line");
    return `127.0.0.1:${/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1]}`;
  };

  test("clients of kubectl port-forward need no token, and others do", async () => {
    const service = await json("-n", NAMESPACE, "get", "service", "sandbox-router-svc");
    expect(await ask(`${service.spec.clusterIP}:8080`)).toMatchObject({ status: 401 });
    // The sandbox's own answer: its folder is empty.
    expect(await ask(await forwarded())).toMatchObject({ status: 404 });
  });

  test("a proxy that was injected into the router's Pod lets nobody in, and ends the trust in port-forward", async () => {
    const forward = ["nc", "-ll", "-p", String(PROXY_PORT), "-e", "nc", "127.0.0.1", "8080"];
    const container = {
      ...{ name: "proxy", image: "busybox:1.37", command: forward },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    };
    const patch = { spec: { template: { spec: { containers: [container] } } } };
    const rolledOut = () =>
      kubectl("-n", NAMESPACE, "rollout", "status", "deployment/sandbox-router", "--timeout=600s");
    await kubectl("-n", NAMESPACE, "patch", "deployment/sandbox-router", "-p", JSON.stringify(patch));
    try {
      await rolledOut();
      const withProxy = async () => {
        const { items } = await json("-n", NAMESPACE, "get", "pods", "-l", "app=sandbox-router");
        return items.filter(({ spec }: { spec: { containers: unknown[] } }) => spec.containers.length === 2);
      };
      const [{ status: { podIP } }] = await until(withProxy, (pods) => pods.length === 2);
      const refused = {
        status: 401,
        text: expect.stringContaining("the router's Pod has 2 containers. "),
      };
      expect(await ask(`${podIP}:${PROXY_PORT}`), "a stranger, through the proxy").toEqual(refused);
      expect(await until(async () => await ask(await forwarded()), ({ status }) => status === 401)).toEqual(refused);
    } finally {
      await kubectl("-n", NAMESPACE, "rollout", "undo", "deployment/sandbox-router");
      await rolledOut();
    }
    expect(await until(async () => await ask(await forwarded()), ({ status }) => status === 404)).toBeTruthy();
  });
}
