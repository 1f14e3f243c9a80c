/** hookbox installed as users install it, on a cluster made anew: everything runs in it, and Pods find each other. @module */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { localCRDs } from "../../dev/crds.ts";
import { install, rollback, upgrade } from "../../dev/deploy/install.ts";
import { WOKEN_AT_ANNOTATION as WOKEN_AT } from "../../packages/api/objects/keys.ts";
import { importRuntimeImage, RUNTIME_IMAGE } from "../../dev/cluster/runtimeimage.ts";
import { startProgram } from "../clients/program.ts";
import { clientPython } from "../clients/python.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { run, until } from "../integration/kubectl.ts";
import { MAIN } from "./transcript/hookbox.ts";
import { hasRealNode } from "../integration/suite.ts";

let cluster: Cluster;

const kubectl = (...args: string[]) => run(cluster, args);
const example = (name: string) => readFileSync(new URL(`../../examples/${name}.yaml`, import.meta.url), "utf8");
const progress = (line: string) => void process.stdout.write(`deploy: ${line}\n`);
const json = async (...args: string[]) => JSON.parse(await kubectl(...args, "-o", "json"));

/** Starts a cluster for the tests of a group, and ends it. */
function installedBy(by: "kubectl" | "helm", crds: string[]): void {
  beforeAll(async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "hookbox-deploy-"));
    cluster = await startCluster({ stateDir, nodes: "real", crds, progress });
    await install(cluster, { by, progress });
  }, 600_000);
  afterAll(() => cluster?.stop());
}

describe.runIf(hasRealNode)("helm install", () => {
  installedBy("helm", []);

  test("gives a working system: the next command a Sandbox that is Ready", { timeout: 120_000 }, async () => {
    await run(cluster, ["apply", "-f", "-"], example("sandbox"));
    await kubectl("wait", "--for=condition=Ready", "sandbox/demo", "--timeout=90s");
    expect((await json("get", "sandbox", "demo")).status.podIPs).toHaveLength(1);
  });

  test(
    "an upgrade and its rollback restart no sandbox, and serve the claims that come",
    { timeout: 400_000 },
    async () => {
      await run(cluster, ["apply", "-f", "-"], `${example("template")}---\n${example("pool")}`);
      await until(() => json("get", "sandboxwarmpool", "agents"), ({ status }) => status?.readyReplicas === 3, 60);
      const images = async () => {
        const { items } = await json("get", "pods", "-A", "-l", "app.kubernetes.io/part-of=hookbox");
        const live = items.filter(({ metadata }: Item) => metadata.deletionTimestamp === undefined);
        return new Set(live.map(({ spec }: Item) => spec.containers[0].image));
      };
      const uids = async () => {
        const { items } = await json("get", "pods", "-l", "agents.x-k8s.io/sandbox-name-hash");
        return items.map(({ metadata }: Item) => metadata.uid) as string[];
      };
      const before = await images();
      const claims = startClaims();
      await upgrade(cluster, { tag: "next" }, { progress });
      expect(await images()).toEqual(new Set(["hookbox:next"]));
      const amidst = await uids();
      await rollback(cluster, { progress });
      expect(await images()).toEqual(before);
      const waits = await claims.end();
      progress(`${waits.length} claims, longest wait ${Math.max(...waits)} ms`);
      expect(waits.length).toBeGreaterThan(10);
      expect(await uids()).toEqual(expect.arrayContaining(amidst));
      const { items } = await json("get", "pods", "-l", "agents.x-k8s.io/sandbox-name-hash");
      expect(items.flatMap(({ status }: Item) => status.containerStatuses.map((each) => each.restartCount)))
        .toEqual(items.map(() => 0));
    },
  );

  test(
    "the published Python client works as it is, where the router asks for no token",
    { timeout: 600_000 },
    async () => {
      await clientPython(progress);
      await importRuntimeImage(cluster.stateDir, { progress });
      await upgrade(cluster, { values: ["router.args={--authz-mode=allow-all}"] }, { progress });
      const ns = await makeNamespace(cluster);
      const ports = [{ containerPort: 8888 }];
      const main = { name: "main", image: RUNTIME_IMAGE, imagePullPolicy: "IfNotPresent", ports };
      const readinessProbe = { httpGet: { path: "/", port: 8888 }, periodSeconds: 1 };
      const spec = { terminationGracePeriodSeconds: 1, containers: [{ ...main, readinessProbe }] };
      await ns.apply(aTemplate("t", {}, spec), aPool("p", 1, "t"));
      await untilFull(ns, "p");
      const program = await startProgram(ns, "inside", { bytes: 1000 });
      expect(await program.next()).toMatchObject({
        written: { stdout: "42\n", exit_code: 0 },
        text: "hello",
        same: true,
      });
      program.goOn();
      expect((await program.next()).after).toMatchObject({ stdout: "hello", exit_code: 0 });
    },
  );
});

interface Item {
  metadata: { uid: string; deletionTimestamp?: string };
  spec: { containers: [{ image: string }] };
  status: { containerStatuses: { restartCount: number }[] };
}

/** Has a claim made every second, until `end`, which returns how long each has waited for Ready, in milliseconds. */
function startClaims() {
  const claims: Promise<number>[] = [];
  const make = async (name: string) => {
    const began = performance.now();
    const metadata = { name, namespace: "default" };
    const object = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", metadata };
    await run(cluster, ["create", "-f", "-"], JSON.stringify({ ...object, spec: { warmPoolRef: { name: "agents" } } }));
    await kubectl("wait", "--for=condition=Ready", `sandboxclaim/${name}`, "--timeout=60s");
    return Math.round(performance.now() - began);
  };
  const timer = setInterval(() => claims.push(make(`claim-${claims.length}`)), 1000);
  return {
    end() {
      clearInterval(timer);
      return Promise.all(claims);
    },
  };
}

describe.runIf(hasRealNode)("kubectl apply -k", () => {
  installedBy("kubectl", localCRDs());

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

  test("a Sandbox becomes Ready, and its hostname leads to it from another Pod", { timeout: 120_000 }, async () => {
    await run(cluster, ["apply", "-f", "-"], example("sandbox"));
    await kubectl("wait", "--for=condition=Ready", "sandbox/demo", "--timeout=60s");
    const { status } = await json("get", "sandbox", "demo");
    expect(status.serviceFQDN).toBe("demo.default.svc.cluster.local");
    const args = ["run", "asks", "--image=busybox:1.37", "--restart=Never", "--rm", "-i", "--quiet", "--"];
    expect(await kubectl(...args, "nslookup", status.serviceFQDN)).toContain(`Address: ${status.podIPs[0]}`);
  });

  test("a claim is given a member of its pool", { timeout: 120_000 }, async () => {
    await run(cluster, ["apply", "-f", "-"], `${example("template")}---\n${example("pool")}`);
    const ready = () => json("get", "sandboxwarmpool", "agents");
    await until(ready, ({ status }) => status?.readyReplicas === 3, 60);
    await run(cluster, ["apply", "-f", "-"], example("claim"));
    await kubectl("wait", "--for=condition=Ready", "sandboxclaim/session", "--timeout=30s");
    const { status } = await json("get", "sandboxclaim", "session");
    expect(status.sandbox.name).toMatch(/^agents-/);
  });

  test(
    "the router lets in nobody without a token, and whom the API server lets connect",
    { timeout: 60_000 },
    async () => {
      const service = await json("-n", "agent-sandbox-system", "get", "service", "sandbox-router-svc");
      const ask = async (headers: Record<string, string>) => {
        const sandbox = { "x-sandbox-id": "demo", "x-sandbox-namespace": "default", "x-sandbox-port": "8888" };
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
      await until(() => ask(user), (status) => status === 404, 45);
    },
  );

  test("one hook is rolled alone: nothing else is, and it is asked about what exists", async () => {
    const uids = async () => {
      const { items } = await json("get", "pods", "-n", "hookbox-system");
      return new Map(items.map(({ metadata }: { metadata: { name: string; labels: object; uid: string } }) => {
        return [metadata.uid, metadata.labels["app.kubernetes.io/name" as keyof object]];
      })) as Map<string, string>;
    };
    const before = await uids();
    await kubectl("-n", "hookbox-system", "rollout", "restart", "deployment/sandboxtemplate");
    await kubectl("-n", "hookbox-system", "rollout", "status", "deployment/sandboxtemplate", "--timeout=60s");
    const after = await uids();
    const gone = [...before].filter(([uid]) => !after.has(uid)).map(([, name]) => name);
    expect(new Set(gone)).toEqual(new Set(["sandboxtemplate"]));
    const woken = async (...object: string[]) => (await json("get", ...object)).metadata.annotations?.[WOKEN_AT];
    await until(() => woken("sandboxtemplate", "agent"), (time) => time !== undefined, 60);
    expect(await woken("sandbox", "demo")).toBeUndefined();
  });

  test("uninstall takes back what was installed; what users have made goes on", { timeout: 60_000 }, async () => {
    const { metadata: before } = await json("get", "pod", "demo");
    const uninstall = (...args: string[]) =>
      promisify(execFile)(process.execPath, [MAIN, "uninstall", "--kubeconfig", cluster.kubeconfig, ...args]);
    expect((await uninstall()).stdout).toContain("Nothing was deleted");
    expect((await json("get", "deployments", "-n", "hookbox-system")).items).toHaveLength(6);
    const { stdout } = await uninstall("--apply");
    expect(stdout).toMatch(
      /Left: the CRDs, with \d+ sandboxes, 1 sandboxclaims, 1 sandboxwarmpools, 1 sandboxtemplates/,
    );
    const left = await json("get", "deployments,services,leases", "-n", "hookbox-system");
    expect(left.items).toEqual([]);
    expect((await json("get", "pod", "demo")).metadata.uid).toBe(before.uid);
  });
});
