/** hookbox installed by Helm, on a cluster made anew: its dashboard, an upgrade, the way back, the published client. @module */
import { Buffer } from "node:buffer";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import process from "node:process";
import { beforeAll, describe, expect, test } from "vitest";
import { aClaim, create, remove } from "../../dev/bench/load/requests.ts";
import { connectLoad } from "../../dev/bench/stage/stage.ts";
import { followReady } from "../../dev/bench/load/follower.ts";
import { tagImage } from "../../dev/cluster/images.ts";
import { importRuntimeImage, RUNTIME_IMAGE } from "../../dev/cluster/runtimeimage.ts";
import { rollback, upgrade } from "../../dev/deploy/install.ts";
import { testDashboard } from "../browser/dashboard.ts";
import { startProgram } from "../clients/program.ts";
import { clientPython } from "../clients/python.ts";
import { typed } from "../bash.ts";
import { CONSUMERS, testConsumers } from "../consumers/consumers.ts";
import { helm } from "../integration/chart.ts";
import { until } from "../integration/kubectl.ts";
import { type Loose, makeNamespace } from "../integration/namespace.ts";
import { aPool, aSimulatedTemplate, aTemplate, untilFull } from "../integration/pools.ts";
import { hasRealNode } from "../integration/suite.ts";
import { testE2B } from "./e2b.ts";
import { testGateway } from "./gateway.ts";
import { example, installedBy, progress } from "./installed.ts";
import { PATIENCE_MS } from "../patience.ts";

describe.runIf(hasRealNode)("helm install", () => {
  const installed = installedBy("helm", [], 1);
  const { cluster, kubectl, apply, json } = installed;

  test("gives a working system: the next command a Sandbox that is Ready", async () => {
    await apply(example("sandbox"));
    await kubectl("wait", "--for=condition=Ready", "sandbox/demo", "--timeout=600s");
    expect((await json("get", "sandbox", "demo")).status.podIPs).toHaveLength(1);
  });

  test("prints notes whose commands work: a Sandbox, a user of the dashboard with a token, and the end of the Sandbox", async () => {
    const { kubeconfig, kubectl: program } = cluster();
    const text = await helm("get", "notes", "hookbox", "-n", "hookbox-system", "--kubeconfig", kubeconfig);
    const lines = text.split("\n").filter((line) => line.startsWith("  "));
    const isForward = (line: string) => line.includes(" port-forward ");
    expect(lines.filter(isForward)).toEqual([
      "  kubectl -n agent-sandbox-system port-forward service/sandbox-router-svc 8080 &",
    ]);
    const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${dirname(program)}:${process.env["PATH"]}` };
    const commands = lines.filter((line) => !isForward(line)).join("\n");
    const { code, output } = await typed(commands, tmpdir(), env);
    expect(code, output).toBe(0);
    // kubectl prints a token without the end of a line.
    const [, payload = ""] = /^eyJ[\w-]+\.([\w-]+)\./m.exec(output) ?? [];
    const user = "system:serviceaccount:default:hookbox-user";
    expect(JSON.parse(Buffer.from(payload, "base64url").toString()).sub).toBe(user);
    expect((await kubectl("auth", "can-i", "list", "sandboxes", `--as=${user}`)).trim()).toBe("yes");
    expect(await kubectl("get", "sandboxes", "--ignore-not-found", "first")).toBe("");
  });

  describe("the dashboard", () => testDashboard(installed));

  describe("published clients", () => {
    beforeAll(() => importRuntimeImage(cluster().stateDir, { progress }));
    testConsumers(installed, () => RUNTIME_IMAGE, CONSUMERS.filter(({ runs }) => runs === "npm test"));
  });

  describe("E2B's SDKs", () => testE2B(installed));

  test(
    "an upgrade and its rollback restart no sandbox, and serve the claims that come",
    async () => {
      await apply(`${example("template")}---\n${example("pool")}`);
      await apply(
        JSON.stringify({ apiVersion: "v1", kind: "List", items: [aSimulatedTemplate("coming"), aPool("coming", 3)] }),
      );
      for (const pool of ["agents", "coming"]) {
        await until(() => json("get", "sandboxwarmpool", pool), ({ status }) => status?.readyReplicas === 3);
      }
      const images = async () => {
        const { items } = await json("get", "pods", "-A", "-l", "app.kubernetes.io/part-of=hookbox");
        const live = items.filter(({ metadata }: Item) => metadata.deletionTimestamp === undefined);
        return new Set(live.map(({ spec }: Item) => spec.containers[0].image));
      };
      for (const name of STANDING) await apply(JSON.stringify(aClaim(name, "agents")));
      await kubectl("wait", "--for=condition=Ready", "sandboxclaims", "--all", "--timeout=600s");
      const standing = async () => {
        const { items } = await json("get", "pods", "-l", "agents.x-k8s.io/claim-uid,app=agent");
        return items.map(standingOf);
      };
      // A Pod is labelled a moment after its claim is Ready.
      const pods = await until(standing, (now) => now.length === STANDING.length);
      const before = await images();
      expect(before.size).toBe(1);
      const [name] = before;
      await tagImage(cluster().stateDir, `docker.io/library/${name}`, "docker.io/library/hookbox:next");
      const claims = await startClaims(cluster().kubeconfig);
      await upgrade(cluster(), ["image.tag=next"], { progress });
      expect(await images()).toEqual(new Set(["hookbox:next"]));
      await rollback(cluster(), { progress });
      expect(await images()).toEqual(before);
      const served = await claims.end();
      const longest = served.reduce((most, one) => one.ms > most.ms ? one : most);
      progress(`${served.length} claims, longest wait ${longest.ms} ms, for ${longest.sandbox}`);
      expect(served.length).toBeGreaterThan(10);
      const left = await until(standing, (now) => now.length <= pods.length);
      expect(left).toEqual(pods);
    },
  );

  describe("with v1alpha1, and a router that asks for no token", () => {
    beforeAll(async () => {
      await clientPython(progress);
      await importRuntimeImage(cluster().stateDir, { progress });
      await upgrade(cluster(), ["v1alpha1.enabled=true", "router.args={--authz-mode=allow-all}"], { progress });
    });

    test("what is written for v1alpha1 applies as it stands, and is read so", async () => {
      const sandboxes = "sandboxes.v1alpha1.agents.x-k8s.io";
      const pools = "sandboxwarmpools.v1alpha1.extensions.agents.x-k8s.io";
      const claims = "sandboxclaims.v1alpha1.extensions.agents.x-k8s.io";
      await apply(OLD_OBJECTS);
      await kubectl("wait", "--for=condition=Ready", `${sandboxes}/old`, "--timeout=600s");
      await kubectl("wait", "--for=condition=Ready", `${claims}/old-claim`, "--timeout=600s");
      expect((await json("get", "sandbox", "old")).spec).toMatchObject({ service: true, operatingMode: "Running" });
      const { spec, status } = await json("get", sandboxes, "old");
      expect([spec.service, spec.replicas, status.replicas]).toEqual([undefined, 1, 1]);
      expect((await json("get", claims, "old-claim")).spec).toMatchObject({ sandboxTemplateRef: { name: "agent" } });
      await kubectl("scale", `${sandboxes}/old`, "--replicas=0");
      await kubectl("wait", "--for=condition=Suspended", "sandbox/old", "--timeout=600s");
      await until(
        () => json("get", "pods"),
        ({ items }) => items.every(({ metadata }: Loose) => metadata.name !== "old"),
      );
      await kubectl("scale", `${pools}/agents`, "--replicas=2");
      expect((await json("get", "sandboxwarmpool", "agents")).spec.replicas).toBe(2);
    });

    describe("a Gateway", () => testGateway(installed));

    test("the published Python client works as it is", async () => {
      const ns = await makeNamespace(cluster());
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
    });
  });
});

const OLD_OBJECTS = `
apiVersion: agents.x-k8s.io/v1alpha1
kind: Sandbox
metadata:
  name: old
spec:
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: busybox:1.37
          command: ["sleep", "3600"]
---
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: SandboxClaim
metadata:
  name: old-claim
spec:
  sandboxTemplateRef:
    name: agent
  warmpool: agents
`;

interface Item {
  metadata: { uid: string; deletionTimestamp?: string };
  spec: { containers: [{ image: string }] };
  status: { containerStatuses?: { restartCount: number }[] };
}

const STANDING = ["standing-0", "standing-1", "standing-2", "standing-3"];

/** What must not change of a Pod: its UID, and how often its containers were restarted. */
function standingOf({ metadata, status }: Item): [string, number[]] {
  return [metadata.uid, (status.containerStatuses ?? []).map(({ restartCount }) => restartCount)];
}

/**
 * Has a claim made every second, until `end`, which returns what each was given, and how long it waited for Ready, in
 * milliseconds. They come by requests, and their Pods are simulated: containers and kubectl would take the processor of this
 * one machine from what claims wait for. Each is deleted when it is Ready.
 */
async function startClaims(kubeconfig: string) {
  const ending = new AbortController();
  const api = await connectLoad(kubeconfig, ending.signal);
  const path = { resource: "sandboxclaims", namespace: "default" } as const;
  const { objects, readyAt, until } = await followReady(api, path.resource, ending.signal);
  const claims: Promise<{ sandbox: string | undefined; ms: number }>[] = [];
  const make = async (name: string) => {
    const began = performance.now();
    const key = `${path.namespace}/${name}`;
    await create(api, path, aClaim(name, "coming"));
    await until(() => readyAt.has(key), PATIENCE_MS / 1000);
    const ready = readyAt.get(key);
    if (ready === undefined) {
      throw new Error(`Waited in vain for ${name}: ${JSON.stringify(objects.get(key))}`);
    }
    const sandbox = objects.get(key)?.status?.sandbox?.name;
    await remove(api, { ...path, name });
    return { sandbox, ms: Math.round(ready - began) };
  };
  const timer = setInterval(() => claims.push(make(`claim-${claims.length}`)), 1000);
  return {
    async end() {
      clearInterval(timer);
      const served = await Promise.all(claims);
      ending.abort();
      return served;
    },
  };
}
