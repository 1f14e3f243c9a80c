/**
 * Over from the Go controller, and back, with what that has made itself: every Pod in use and every volume stays.
 * HOOKBOX_TEST_PEER names its binary, HOOKBOX_TEST_PEER_CRDS the folder of its CRDs. @module
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { install } from "../../dev/deploy/install.ts";
import { run, until } from "../integration/kubectl.ts";
import { condition, type Loose, sleeper, VOLUME } from "../integration/namespace.ts";
import { aClaim, aPool, aTemplate } from "../integration/pools.ts";
import { progress } from "../node/installed.ts";
import { type Peer, preparePeer } from "../node/peer.ts";
import { MAIN } from "../node/transcript/hookbox.ts";

const { HOOKBOX_TEST_PEER: PEER = "", HOOKBOX_TEST_PEER_CRDS: CRDS = "" } = process.env;
const hasPeer = PEER !== "" && CRDS !== "";

let folder: string;
let cluster: Cluster;
let peer: Peer;

const kubectl = (...args: string[]) => run(cluster, args);
const apply = (...items: Loose[]) =>
  run(cluster, ["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
const get = async (kind: string, name: string): Promise<Loose> =>
  JSON.parse(await kubectl("get", kind, name, "-o", "json"));
const untilReady = (kind: string, ...names: string[]) =>
  kubectl("wait", "--for=condition=Ready", "--timeout=600s", ...names.map((name) => `${kind}/${name}`));
const untilFull = () => until(() => get("sandboxwarmpool", "pool"), ({ status }) => status?.readyReplicas === 3);

/** What was written in `v1alpha1`, with a claim that names its pool. */
function inAlpha(): Loose[] {
  const { spec: { podTemplate } } = sleeper("old");
  const api = (group: string) => `${group}agents.x-k8s.io/v1alpha1`;
  return [
    { apiVersion: api(""), kind: "Sandbox", metadata: { name: "old" }, spec: { podTemplate, replicas: 1 } },
    {
      apiVersion: api("extensions."),
      kind: "SandboxClaim",
      metadata: { name: "old-claim" },
      spec: { sandboxTemplateRef: { name: "template" }, warmpool: "empty" },
    },
  ];
}

/** A Pod for a Sandbox of another name to adopt, as versions did whose pools were of Pods; and that Sandbox. */
function underAnotherName(): Loose[] {
  const { spec: { podTemplate } } = sleeper("renamed");
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "pool-x7k2p", labels: { "agents.x-k8s.io/adoptable": "true" } },
    spec: podTemplate.spec,
  };
  const sandbox = sleeper("renamed");
  const annotations = { "agents.x-k8s.io/pod-name": "pool-x7k2p" };
  return [pod, { ...sandbox, metadata: { ...sandbox.metadata, annotations } }];
}

/** What versions before 0.5 made for each claim. */
function aPolicyOfClaim({ metadata: { name, uid } }: Loose): Loose {
  const [apiVersion, kind] = ["extensions.agents.x-k8s.io/v1beta1", "SandboxClaim"];
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: `${name}-network-policy`, ownerReferences },
    spec: { podSelector: { matchLabels: { "agents.x-k8s.io/claim-uid": uid } }, policyTypes: ["Ingress"] },
  };
}

const KINDS = ["pods", "persistentvolumeclaims", "services", "networkpolicies"];
/** UIDs by kind and name, of what belongs to a Sandbox that is in use; members that nobody has are left out. */
async function uids(): Promise<Record<string, string>> {
  const lists = await Promise.all(KINDS.map(async (kind) => JSON.parse(await kubectl("get", kind, "-o", "json"))));
  const sandboxes: Loose[] = JSON.parse(await kubectl("get", "sandboxes", "-o", "json")).items;
  const free = new Set(
    sandboxes.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "SandboxWarmPool")
      .map(({ metadata }) => metadata.name),
  );
  return Object.fromEntries(
    lists.flatMap(({ items }: Loose) => items as Loose[])
      .filter(({ kind, metadata }) => !(kind === "Pod" && free.has(metadata.name)) && metadata.name !== "kubernetes")
      .map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.uid]),
  );
}

describe.runIf(hasPeer)("over from the Go controller, and back", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "hookbox-takeover-"));
    peer = await preparePeer(PEER, CRDS, folder);
    const stateDir = join(folder, "cluster");
    cluster = await startCluster({ stateDir, nodes: "real", simulatedNodes: 0, crds: peer.crds, progress });
    await peer.start(cluster);
  });

  afterAll(async () => {
    await peer?.end();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("no Pod in use and no volume is another", async () => {
    await apply(
      sleeper("bare", { ...VOLUME, service: true }),
      sleeper("asleep", VOLUME),
      aTemplate("template"),
      aPool("pool", 3, "template"),
      aPool("empty", 0, "template"),
      ...inAlpha(),
      ...underAnotherName(),
    );
    await untilReady("sandbox", "bare", "asleep", "old", "renamed");
    await untilFull();
    await apply(aClaim("warm", "pool"), aClaim("cold", "empty"));
    await untilReady("sandboxclaim", "warm", "cold", "old-claim");
    await kubectl("patch", "sandbox", "asleep", "--type=merge", "-p", '{"spec":{"operatingMode":"Suspended"}}');
    await until(() => get("sandbox", "asleep"), (sandbox) => condition(sandbox, "Suspended")?.status === "True");
    await untilFull();
    const before = await uids();
    const { status: warm } = await get("sandboxclaim", "warm");
    expect(Object.keys(before)).toEqual(expect.arrayContaining([
      "Pod/bare",
      `Pod/${warm.sandbox.name}`,
      "Pod/cold",
      "Pod/old",
      "Pod/old-claim",
      "Pod/pool-x7k2p",
      "PersistentVolumeClaim/data-bare",
      "PersistentVolumeClaim/data-asleep",
      "Service/bare",
      expect.stringMatching(/^NetworkPolicy\//),
    ]));

    await peer.end();
    await apply(aPolicyOfClaim(await get("sandboxclaim", "cold")));
    await install(cluster, { by: "hookbox", progress });
    // Members of the other's making are made anew.
    const isOurs = async () => {
      const { items } = JSON.parse(await kubectl("get", "sandboxes", "-o", "json"));
      return items.filter(({ metadata }: Loose) => {
        const label = metadata.labels?.["controller-uid"];
        return metadata.ownerReferences?.[0]?.kind === "SandboxWarmPool" && label !== undefined;
      }).length;
    };
    await until(isOurs, (count) => count >= 3);
    await untilFull();
    await apply(aClaim("next", "pool"));
    await untilReady("sandboxclaim", "warm", "cold", "old-claim", "next");
    await untilReady("sandbox", "bare", "old", "renamed");
    const own = await uids();
    expect(own).toMatchObject(before);
    expect(Object.keys(own)).not.toContain("Pod/renamed");
    expect(Object.keys(own)).toContain("NetworkPolicy/cold-network-policy");
    expect((await get("sandboxclaim", "warm")).status.sandbox.name).toBe(warm.sandbox.name);
    await kubectl("patch", "sandbox", "asleep", "--type=merge", "-p", '{"spec":{"operatingMode":"Running"}}');
    await untilReady("sandbox", "asleep");
    const during = await uids();
    expect(during).toMatchObject(own);

    const args = [MAIN, "uninstall", "--apply", "--kubeconfig", cluster.kubeconfig];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toContain("Kept: the CRDs");
    await run(cluster, ["apply", "--server-side", "--force-conflicts", "-f", "-"], peer.crds.join("\n---\n"));
    await peer.start(cluster);
    await untilFull();
    await apply(aClaim("after", "pool"));
    await untilReady("sandboxclaim", "warm", "cold", "old-claim", "next", "after");
    await untilReady("sandbox", "bare", "asleep", "old", "renamed");
    const { "NetworkPolicy/cold-network-policy": _, ...left } = during;
    expect(await uids()).toMatchObject(left);
    expect((await get("sandbox.v1alpha1.agents.x-k8s.io", "old")).spec).toMatchObject({ replicas: 1 });
    const { spec: claim } = await get("sandboxclaim.v1alpha1.extensions.agents.x-k8s.io", "old-claim");
    expect(claim).toMatchObject({ sandboxTemplateRef: { name: "template" }, warmpool: "empty" });
    await kubectl("delete", "sandboxclaim", "warm", "--timeout=600s");
    await kubectl("wait", "--for=delete", `pod/${warm.sandbox.name}`, "--timeout=600s");
  });
});
