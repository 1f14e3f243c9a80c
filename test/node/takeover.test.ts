/**
 * Over from the Go controller, and back, with what that has made itself: every Pod in use and every volume stays.
 * HOOKBOX_TEST_PEER names its binary, HOOKBOX_TEST_PEER_CRDS the folder of its CRDs. @module
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { peerControllers, readPeerCRDs } from "../../dev/bench/stage/peer.ts";
import { type Cluster, startCluster } from "../../dev/cluster/cluster.ts";
import { endGently, type ProcessRecord } from "../../dev/cluster/processes.ts";
import { install } from "../../dev/deploy/install.ts";
import { run, until } from "../integration/kubectl.ts";
import { condition, type Loose, sleeper, VOLUME } from "../integration/namespace.ts";
import { aClaim, aPool, aTemplate } from "../integration/pools.ts";
import { progress } from "./installed.ts";
import { MAIN } from "./transcript/hookbox.ts";

const { HOOKBOX_TEST_PEER: PEER = "", HOOKBOX_TEST_PEER_CRDS: CRDS = "" } = process.env;
const hasPeer = PEER !== "" && CRDS !== "";

const ending = new AbortController();
let folder: string;
let cluster: Cluster;
let peer: ProcessRecord[] = [];

async function startPeer(): Promise<void> {
  peer = [];
  const { signal } = ending;
  await peerControllers(PEER, CRDS).start({ cluster, folder, started: peer, stops: [], signal, profiler: undefined });
}

async function endPeer(): Promise<void> {
  for (const record of peer.splice(0)) await endGently(record);
}

const kubectl = (...args: string[]) => run(cluster, args);
const apply = (...items: Loose[]) =>
  run(cluster, ["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
const get = async (kind: string, name: string): Promise<Loose> =>
  JSON.parse(await kubectl("get", kind, name, "-o", "json"));
const untilReady = (kind: string, ...names: string[]) =>
  kubectl("wait", "--for=condition=Ready", "--timeout=90s", ...names.map((name) => `${kind}/${name}`));
const untilFull = () => until(() => get("sandboxwarmpool", "pool"), ({ status }) => status?.readyReplicas === 3, 90);

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
    mkdirSync(join(folder, "logs"));
    const crds = readPeerCRDs(CRDS);
    const stateDir = join(folder, "cluster");
    cluster = await startCluster({ stateDir, nodes: "real", simulatedNodes: 0, crds, progress });
    await startPeer();
  }, 600_000);

  afterAll(async () => {
    ending.abort();
    await endPeer();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("no Pod in use and no volume is another", { timeout: 600_000 }, async () => {
    await apply(
      sleeper("bare", { ...VOLUME, service: true }),
      sleeper("asleep", VOLUME),
      aTemplate("template"),
      aPool("pool", 3, "template"),
      aPool("empty", 0, "template"),
    );
    await untilReady("sandbox", "bare", "asleep");
    await untilFull();
    await apply(aClaim("warm", "pool"), aClaim("cold", "empty"));
    await untilReady("sandboxclaim", "warm", "cold");
    await kubectl("patch", "sandbox", "asleep", "--type=merge", "-p", '{"spec":{"operatingMode":"Suspended"}}');
    await until(() => get("sandbox", "asleep"), (sandbox) => condition(sandbox, "Suspended")?.status === "True");
    await untilFull();
    const before = await uids();
    const { status: warm } = await get("sandboxclaim", "warm");
    expect(Object.keys(before)).toEqual(expect.arrayContaining([
      "Pod/bare",
      `Pod/${warm.sandbox.name}`,
      "Pod/cold",
      "PersistentVolumeClaim/data-bare",
      "PersistentVolumeClaim/data-asleep",
      "Service/bare",
      expect.stringMatching(/^NetworkPolicy\//),
    ]));

    await endPeer();
    await install(cluster, { by: "hookbox", progress });
    // Members of the other's making are made anew.
    const isOurs = async () => {
      const { items } = JSON.parse(await kubectl("get", "sandboxes", "-o", "json"));
      return items.filter(({ metadata }: Loose) => {
        const label = metadata.labels?.["controller-uid"];
        return metadata.ownerReferences?.[0]?.kind === "SandboxWarmPool" && label !== undefined;
      }).length;
    };
    await until(isOurs, (count) => count >= 3, 120);
    await untilFull();
    await apply(aClaim("next", "pool"));
    await untilReady("sandboxclaim", "warm", "cold", "next");
    const own = await uids();
    expect(own).toMatchObject(before);
    expect((await get("sandboxclaim", "warm")).status.sandbox.name).toBe(warm.sandbox.name);
    await kubectl("patch", "sandbox", "asleep", "--type=merge", "-p", '{"spec":{"operatingMode":"Running"}}');
    await untilReady("sandbox", "asleep");
    const during = await uids();
    expect(during).toMatchObject(own);

    const args = [MAIN, "uninstall", "--apply", "--kubeconfig", cluster.kubeconfig];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toContain("Left: the CRDs");
    await run(cluster, ["apply", "--server-side", "--force-conflicts", "-f", "-"], readPeerCRDs(CRDS).join("\n---\n"));
    await startPeer();
    await untilFull();
    await apply(aClaim("after", "pool"));
    await untilReady("sandboxclaim", "warm", "cold", "next", "after");
    await untilReady("sandbox", "bare", "asleep");
    expect(await uids()).toMatchObject(during);
    await kubectl("delete", "sandboxclaim", "warm", "--timeout=60s");
    await kubectl("wait", "--for=delete", `pod/${warm.sandbox.name}`, "--timeout=90s");
  });
});
