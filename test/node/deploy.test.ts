/**
 * hookbox installed by `kubectl apply -k`, on a cluster made anew: everything runs in it, Pods find each other, how-tos do
 * what they say, and it can be uninstalled. @module
 */
import { execFile } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Cluster } from "../../dev/cluster/cluster.ts";
import { readRecord } from "../../dev/cluster/state.ts";
import { localCRDs } from "../../dev/crds.ts";
import { WOKEN_AT_ANNOTATION as WOKEN_AT } from "../../packages/api/objects/keys.ts";
import { attempt, until } from "../integration/kubectl.ts";
import { untilNamespacesGone } from "../integration/namespace.ts";
import { hasRealNode } from "../integration/suite.ts";
import { testHowTos } from "./howtos.ts";
import { example, installedBy } from "./installed.ts";
import { testPortForward } from "./portforward.ts";
import { MAIN } from "./transcript/hookbox.ts";

describe.runIf(hasRealNode)("kubectl apply -k", () => {
  const installed = installedBy("kubectl", localCRDs());
  const { cluster, kubectl, apply, json } = installed;

  test("all processes run, each as nobody, with no way to write and, if it is a hook, no token", async () => {
    const { items } = await json("get", "pods", "-A", "-l", "app.kubernetes.io/part-of=hookbox");
    expect(items).toHaveLength(14);
    for (const { metadata, spec, status } of items) {
      const [container] = spec.containers;
      expect(status.phase, metadata.name).toBe("Running");
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      expect(container.securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      if (metadata.labels["app.kubernetes.io/component"] === "hook") expect(container.volumeMounts ?? []).toEqual([]);
    }
  });

  test("a Sandbox becomes Ready, and its hostname leads to it from another Pod", async () => {
    await apply(example("sandbox"));
    await kubectl("wait", "--for=condition=Ready", "sandbox/demo", "--timeout=600s");
    const { status } = await json("get", "sandbox", "demo");
    expect(status.serviceFQDN).toBe("demo.default.svc.cluster.local");
    await kubectl("run", "asks", "--image=busybox:1.37", "--restart=Never", "--", "sleep", "600");
    await kubectl("wait", "--for=condition=Ready", "pod/asks", "--timeout=600s");
    // `kubectl run -i` shows nothing of a command that has ended before it is attached.
    const answer = await kubectl("exec", "asks", "--", "nslookup", status.serviceFQDN);
    expect(answer).toContain(`Address: ${status.podIPs[0]}`);
  });

  test("a claim is given a member of its pool", async () => {
    await apply(`${example("template")}---\n${example("pool")}`);
    const ready = () => json("get", "sandboxwarmpool", "agents");
    await until(ready, ({ status }) => status?.readyReplicas === 3);
    await apply(example("claim"));
    await kubectl("wait", "--for=condition=Ready", "sandboxclaim/session", "--timeout=600s");
    const { status } = await json("get", "sandboxclaim", "session");
    expect(status.sandbox.name).toMatch(/^agents-/);
  });

  test(
    "the router lets in nobody without a token, and whom the API server lets connect",
    async () => {
      const service = await json("-n", "agent-sandbox-system", "get", "service", "sandbox-router-svc");
      const ask = async (headers: Record<string, string>, id = "demo") => {
        const sandbox = { "x-sandbox-id": id, "x-sandbox-namespace": "default", "x-sandbox-port": "8888" };
        const answer = await fetch(`http://${service.spec.clusterIP}:8080/`, { headers: { ...sandbox, ...headers } });
        await answer.body?.cancel();
        return answer.status;
      };
      expect(await ask({})).toBe(401);
      const user = { authorization: `Bearer ${(await kubectl("create", "token", "default")).trim()}` };
      expect(await ask(user)).toBe(403);
      const connect = ["--clusterrole=hookbox-sandbox-user", "--serviceaccount=default:default"];
      await kubectl("create", "rolebinding", "users", ...connect);
      // The sandbox's own answer: its folder is empty. Each router remembers a refusal for a while.
      await until(() => ask(user), (status) => status === 404);
      // One that lets in the router alone.
      const { status } = await json("get", "sandboxclaim", "session");
      await until(() => ask(user, status.sandbox.name), (code) => code === 404);
    },
  );

  test(
    "other Pods reach no sandbox of a template, hook, keeper or binder; such a sandbox reaches public addresses alone",
    async () => {
      const { status } = await json("get", "sandboxclaim", "session");
      const sandbox = status.sandbox.name;
      const address = status.sandbox.podIPs[0];
      const outside = await onPublicAddress(cluster());
      const container = { name: "main", image: "busybox:1.37", command: ["sleep", "600"] };
      // A label of the router's does not help outside of its namespace.
      const metadata = { name: "stranger", labels: { app: "sandbox-router" } };
      const spec = { containers: [container], terminationGracePeriodSeconds: 0 };
      await apply(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec }));
      await kubectl("wait", "--for=condition=Ready", "pod/stranger", "--timeout=600s");
      const scraping = { name: "scraping", labels: { metrics: "enabled" } };
      await apply(JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: scraping }));
      const scraper = { name: "scraper", namespace: scraping.name };
      await apply(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: scraper, spec }));
      await kubectl("-n", scraper.namespace, "wait", "--for=condition=Ready", "pod/scraper", "--timeout=600s");
      const reaches = async (pod: string, host: string, port: number) => {
        const namespace = pod === scraper.name ? scraper.namespace : "default";
        const connect = ["-n", namespace, "exec", pod, "--", "nc", "-w", "2", host, String(port), "-e", "true"];
        return (await attempt(cluster(), connect)).code === 0;
      };
      const { spec: { clusterIP: api } } = await json("get", "service", "kubernetes");
      const { status: open } = await json("get", "sandbox", "demo");
      try {
        expect({
          "stranger to a sandbox without a policy": await reaches("stranger", open.podIPs[0], 8888),
          "stranger to a sandbox of a template": await reaches("stranger", address, 8888),
          "stranger to a hook": await reaches("stranger", "sandbox.hookbox-system", 8080),
          "stranger to the keeper": await reaches("stranger", "hookbox-keeper.hookbox-system", 8080),
          "stranger to the binder": await reaches("stranger", "hookbox-binder.hookbox-system", 8080),
          "stranger to a hook's metrics": await reaches("stranger", "sandbox.hookbox-system", 9090),
          "scraper to a hook": await reaches("scraper", "sandbox.hookbox-system", 8080),
          "scraper to a hook's metrics": await reaches("scraper", "sandbox.hookbox-system", 9090),
          "scraper to the keeper": await reaches("scraper", "hookbox-keeper.hookbox-system", 8080),
          "scraper to the binder": await reaches("scraper", "hookbox-binder.hookbox-system", 8080),
          "stranger to the API server": await reaches("stranger", api, 443),
          "sandbox to the API server": await reaches(sandbox, api, 443),
          "sandbox to another sandbox": await reaches(sandbox, open.podIPs[0], 8888),
          "sandbox to a public address": await reaches(sandbox, outside.address, outside.port),
          "sandbox to the cluster's names":
            (await attempt(cluster(), ["exec", sandbox, "--", "nslookup", "demo"])).code === 0,
        }).toEqual({
          "stranger to a sandbox without a policy": true,
          "stranger to a sandbox of a template": false,
          "stranger to a hook": false,
          "stranger to the keeper": false,
          "stranger to the binder": false,
          "stranger to a hook's metrics": false,
          "scraper to a hook": false,
          "scraper to a hook's metrics": true,
          "scraper to the keeper": true,
          "scraper to the binder": true,
          "stranger to the API server": true,
          "sandbox to the API server": false,
          "sandbox to another sandbox": false,
          "sandbox to a public address": true,
          "sandbox to the cluster's names": false,
        });
      } finally {
        outside.close();
      }
    },
  );

  test("one hook is rolled alone: nothing else is, and it is asked about what exists", async () => {
    const uids = async () => {
      const { items } = await json("get", "pods", "-n", "hookbox-system");
      return new Map(items.map(({ metadata }: { metadata: { name: string; labels: object; uid: string } }) => {
        return [metadata.uid, metadata.labels["app.kubernetes.io/name" as keyof object]];
      })) as Map<string, string>;
    };
    const woken = async (...object: string[]) => (await json("get", ...object)).metadata.annotations?.[WOKEN_AT];
    // On a machine that has other work a Sandbox waits for its Pod for so long that it is woken for that.
    const wokenBefore = await woken("sandbox", "demo");
    const before = await uids();
    await kubectl("-n", "hookbox-system", "rollout", "restart", "deployment/sandboxtemplate");
    await kubectl("-n", "hookbox-system", "rollout", "status", "deployment/sandboxtemplate", "--timeout=600s");
    const gone = async () => {
      const after = await uids();
      return [...before].flatMap(([uid, name]) => after.has(uid) ? [] : name);
    };
    // They answer for a while after SIGTERM.
    expect(await until(gone, (names) => names.length > 1)).toEqual(["sandboxtemplate", "sandboxtemplate"]);
    await until(() => woken("sandboxtemplate", "agent"), (time) => time !== undefined);
    expect(await woken("sandbox", "demo")).toBe(wokenBefore);
    expect(await gone()).toHaveLength(2);
  });

  describe("port-forward", () => testPortForward(installed));

  describe("how-tos", () => testHowTos(installed));

  test("uninstall removes what was installed; what users have made goes on", async () => {
    await untilNamespacesGone();
    const { metadata: before } = await json("get", "pod", "demo");
    const uninstall = (...args: string[]) =>
      promisify(execFile)(process.execPath, [MAIN, "uninstall", "--kubeconfig", cluster().kubeconfig, ...args]);
    expect((await uninstall()).stdout).toContain("Nothing was deleted");
    expect((await json("get", "deployments", "-n", "hookbox-system")).items).toHaveLength(6);
    const { stdout } = await uninstall("--apply");
    expect(stdout).toMatch(
      /Kept: the CRDs, with \d+ sandboxes, 1 sandboxclaims, 1 sandboxwarmpools, 1 sandboxtemplates/,
    );
    const left = await json("get", "deployments,services,leases", "-n", "hookbox-system");
    expect(left.items).toEqual([]);
    expect((await json("get", "pod", "demo")).metadata.uid).toBe(before.uid);
  });
});

/** Listens at an address that stands for the internet's: it is for documents alone, and goes with the cluster's bridge. */
async function onPublicAddress({ stateDir }: Cluster): Promise<{ address: string; port: number; close(): void }> {
  const { ip = "ip", bridge = "" } = readRecord(stateDir)?.network ?? {};
  const address = "203.0.113.7";
  await promisify(execFile)(ip, ["addr", "replace", `${address}/32`, "dev", bridge]);
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return { address, port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
