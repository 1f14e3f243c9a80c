/**
 * The most hostile objects that the API server stores cost what their size costs: twice as many items are twice the work,
 * in hooks and in what binder and keeper decide by. So do the headers that router and runtime look into. @module
 */
import { Buffer } from "node:buffer";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { sandboxHook } from "../hooks/sandbox/hook.ts";
import { sandboxClaimSchema } from "../packages/api/sandboxclaim.ts";
import { boundMember } from "../packages/binder/boundsandbox.ts";
import { environmentProblem, joinedVolumes, requestProblem, withEnvironment } from "../packages/api/claims/request.ts";
import { mergeTrapPatch } from "../packages/keeper/mergetrap.ts";
import { LAST_APPLIED_ANNOTATION, mergeApply } from "../packages/api/objects/apply.ts";
import { readPod, readSandbox } from "../packages/router/index/records.ts";
import { createSandboxIndex } from "../packages/router/index/sandboxindex.ts";
import { headersForClient } from "../packages/router/proxy/headers.ts";
import { createRoot } from "../packages/runtime/confine.ts";
import { createProcesses } from "../packages/runtime/processes/processes.ts";
import { createTerminalSockets } from "../packages/runtime/terminal/socket.ts";
import { createTokenCheck } from "../packages/runtime/token.ts";
import { operationsOf } from "./operations.ts";
import { makeTempFolder } from "./tempfolder.ts";
import { aClaim, aMember } from "./pools.ts";
import { syncPool } from "./poolcalls.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "./sandboxes.ts";
import { aTemplate } from "./templates.ts";

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));
const mapOf = (count: number, value: string) => Object.fromEntries(many(count, (i) => [`k${i}`, value]));
const hook = sandboxHook({ clusterDomain: "cluster.local" });
const sync = (spec: object, metadata: object = {}, children = [aReadyPod()]) =>
  hook.sync(aRequest(aSandbox({ spec, metadata }), children), NOW);
const podTemplate = (container: object, more: object = {}) => ({
  podTemplate: { spec: { containers: [{ name: "main", image: "busybox", ...container }], ...more } },
});
const volumes = (count: number, name: (index: number) => string) =>
  many(count, (i) => ({ metadata: { name: name(i) }, spec: { accessModes: ["ReadWriteOnce"] } }));
const variables = (count: number, more: object = {}) => many(count, (i) => ({ name: `V${i}`, value: "x", ...more }));
const problems = (count: number, kind: string) =>
  JSON.stringify({
    generation: 1,
    problems: many(count, (i) => ({ kind, name: `c${i}-demo`, state: "invalid", message: "x" })),
  });
const applied = (sandbox: ReturnType<typeof aSandbox>) => ({
  ...sandbox,
  metadata: {
    ...sandbox.metadata,
    annotations: { [LAST_APPLIED_ANNOTATION]: JSON.stringify({ metadata: {}, spec: sandbox.spec }) },
  },
});

const WORK: Record<string, (count: number) => unknown> = {
  "a Sandbox with many names for one port": (count) =>
    sync({ service: true, ...podTemplate({ ports: many(count, (i) => ({ containerPort: 80, name: `p${i}` })) }) }),
  "a Sandbox with many ports": (count) =>
    sync({ service: true, ...podTemplate({ ports: many(count, (i) => ({ containerPort: i + 1 })) }) }),
  "a Sandbox with many containers": (count) =>
    sync({
      service: true,
      podTemplate: { spec: { containers: many(count, (i) => ({ name: `c${i}`, ports: [{ containerPort: 80 }] })) } },
    }),
  "a Sandbox with many volumes": (count) => sync({ volumeClaimTemplates: volumes(count, (i) => `v${i}`) }),
  "a Sandbox with many volumes that have bad names": (count) =>
    sync({ volumeClaimTemplates: volumes(count, (i) => `V_${i}`) }),
  "a Sandbox with many volumes that are there": (count) =>
    sync({ volumeClaimTemplates: volumes(count, (i) => `v${i}`) }, {}, [
      ...many(count, (i) => aChild("PersistentVolumeClaim", { metadata: { name: `v${i}-demo` } })),
      aReadyPod(),
    ]),
  "a Sandbox of whose children many are refused": (count) =>
    sync(
      { volumeClaimTemplates: volumes(count, (i) => `c${i}`) },
      { annotations: { "agents.x-k8s.io/unresolved": problems(count, "PersistentVolumeClaim") } },
    ),
  "a Sandbox with many labels on its Pod": (count) =>
    sync({
      podTemplate: {
        metadata: { labels: mapOf(count, "x"), annotations: mapOf(count, "x") },
        spec: { containers: [] },
      },
    }),
  "a Pod that lists many keys of a former controller": (count) => {
    const list = Object.keys(mapOf(count, "")).join(",");
    const metadata = { labels: mapOf(count, "x"), annotations: { "agents.x-k8s.io/propagated-labels": list } };
    return sync({}, {}, [aReadyPod({ metadata })]);
  },
  "a claim that sets many variables": (count) => {
    const spec = { containers: [{ name: "main", env: variables(count) }, { name: "side" }] };
    environmentProblem(variables(count), "Overrides", spec);
    return withEnvironment(spec, [...variables(count), ...variables(count, { containerName: "side" })]);
  },
  "a claim that sets one variable many times": (count) =>
    withEnvironment({ containers: [{ name: "main" }] }, many(count, () => ({ name: "V", value: "x" }))),
  "a claim that sets a variable in each of many containers": (count) => {
    const spec = { containers: many(count, (i) => ({ name: `c${i}` })) };
    const env = many(count, (i) => ({ name: "V", value: "x", containerName: `c${i}` }));
    environmentProblem(env, "Allowed", spec);
    return withEnvironment(spec, env);
  },
  "a claim with many volumes": (count) => {
    const own = volumes(count, (i) => `v${i}`);
    const template = aTemplate({ spec: { volumeClaimTemplatesPolicy: "Overrides", volumeClaimTemplates: own } });
    const claim = sandboxClaimSchema.parse({
      ...aClaim("c"),
      spec: { ...aClaim("c").spec, volumeClaimTemplates: own },
    });
    requestProblem(claim, template, []);
    return joinedVolumes(own, own);
  },
  "a member that is bound with many variables": (count) => {
    const spec = podTemplate({ env: variables(count) });
    return boundMember(aMember(1, { spec, applied: { spec } }), aClaim("c"), undefined, NOW);
  },
  "a pool whose members have many variables": (count) => {
    const spec = podTemplate({ env: variables(count) });
    return syncPool({ sandboxes: [aMember(1, { spec, applied: { spec } }), aMember(2)] });
  },
  "a pool of many members": (count) => syncPool({ sandboxes: many(count, (i) => aMember(i + 1)) }),
  "a pool of many strangers": (count) => syncPool({ sandboxes: many(count, (i) => aMember(i + 1, { applied: null })) }),
  "the merge of a list of many": (count) => {
    const list = { env: variables(count) };
    return mergeApply(list, list, { env: many(count, (i) => ({ name: `N${i}`, value: "x" })) });
  },
  "the look for merges that spoil, at many alike": (count) =>
    mergeTrapPatch(applied(aSandbox({ spec: podTemplate({ env: variables(count) }) }))),
  "the look for merges that spoil, at many that are not alike": (count) =>
    mergeTrapPatch(
      applied(aSandbox({ spec: podTemplate({ env: many(count, (i) => ({ name: `V${i}`, value: `${i}` })) }) })),
    ),
  "the Pods of a suspended Sandbox, as they come and go": (count) => {
    const index = createSandboxIndex();
    const { pods, sandboxes } = index;
    const metadata = { name: "a", namespace: "n", uid: "u", resourceVersion: "1" };
    sandboxes.observe(readSandbox({ metadata, spec: { operatingMode: "Suspended" } })!);
    const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "a", uid: "u", controller: true };
    const podOf = (i: number) => ({ metadata: { ...metadata, name: `p${i}`, uid: `p${i}`, ownerReferences: [owner] } });
    const names = many(count, (i) => `p${i}`);
    names.forEach((_, i) => pods.observe(readPod(podOf(i), false)!));
    if (index.find("n", "a")?.suspects.size !== count) throw new Error("it does not know them");
    names.forEach((name) => pods.gone(name));
  },
};

describe("twice as much is no more than twice the work", () => {
  test.for(Object.entries(WORK))("%s", ([, work]) => {
    // What is the same for any size is paid for in the first run.
    work(10);
    const [less, more] = [operationsOf(() => work(1000)), operationsOf(() => work(2000))];
    expect(less).toBeGreaterThan(1000);
    expect(more / less).toBeLessThan(2.5);
  });
});

/** Seven times what node:http takes: a search that went through it again from each blank would take a minute. */
const BLANKS = " ".repeat(120_000);
/** What it may take, in milliseconds: thousands of times what it takes to go through it once, however busy the machine is. */
const MOST_MS = 20_000;

describe("a header full of blanks is gone through once", () => {
  test("a cookie that a sandbox sets", () => {
    const passes = (value: string) => headersForClient(["Set-Cookie", value], undefined, "pass").length > 0;
    const values = [`pass${BLANKS}=x`, `${BLANKS}pass=x`, `=${BLANKS}=pass`, `pass${BLANKS};`, `pass${BLANKS}b=x`];
    const begun = performance.now();
    expect(values.map(passes)).toEqual([false, false, false, false, true]);
    expect(performance.now() - begun).toBeLessThan(MOST_MS);
  });

  test("protocols that are offered to a terminal, before the token is looked at", async () => {
    const folder = makeTempFolder();
    const token = createTokenCheck(`${folder}/none`, true);
    const sockets = createTerminalSockets({ root: await createRoot(folder), processes: createProcesses(), token });
    const socket = new PassThrough();
    const headers = { "sec-websocket-protocol": `a${BLANKS}b, hookbox.bearer.x` };
    const begun = performance.now();
    await sockets.upgrade({ url: "/v1/terminal", headers, socket } as never, socket, Buffer.alloc(0));
    expect(String(socket.read())).toMatch(/^HTTP\/1\.1 401 /);
    expect(performance.now() - begun).toBeLessThan(MOST_MS);
  });
});

test("operationsOf() tells what grows faster", () => {
  const quadratic = (count: number) => {
    const names = many(count, (i) => `${i}`);
    return names.filter((name, index) => names.indexOf(name) === index);
  };
  expect(operationsOf(() => quadratic(2000)) / operationsOf(() => quadratic(1000))).toBeGreaterThan(3.5);
});
