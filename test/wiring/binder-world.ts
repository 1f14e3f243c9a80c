/** An API server in memory with a pool of three, and the binder as a process on it. @module */
import { freePorts } from "../../dev/cluster/ports.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import type { ApiRequest } from "../../packages/kube/api.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { createMemoryServer } from "../../packages/testing/server.ts";
import { serveApi } from "../kube/servedapi.ts";
import { type MainProcess, startMain } from "../mainprocess.ts";
import { aMember, aPool, COUNTED } from "../pools.ts";
import { send } from "../runtime/servers.ts";
import { aTemplate } from "../templates.ts";

export type Request = Parameters<ApiFault>[0];

const LEASE = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
export const isLease = ({ path }: Request) => path.includes("/leases");
const isWrite = ({ method }: Request) => !["GET", "WATCH"].includes(method);
export const isHandOver = ({ method, path }: Pick<Request, "method" | "path">) =>
  method === "PUT" && path.includes("/sandboxes/");

export const ownerOf = ({ apiVersion, kind, metadata: { name, uid } }: KubeObject = aPool()) => ({
  ...{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true },
});

/** A cluster of one pool of three, all of them Ready. */
export async function serveCluster() {
  const server = await createMemoryServer({ namespaces: ["team-a", "system"] });
  const world = {
    requests: [] as Request[],
    fault: (() => undefined) as ApiFault,
    /** Awaited before a request is looked at. */
    hold: (_: ApiRequest): Promise<void> | undefined => undefined,
  };
  const put = (...objects: object[]) => Promise.all(objects.map((object) => server.store.put(object as KubeObject)));
  const [pool] = await put(
    aPool({ status: COUNTED }),
    aTemplate({ spec: { envVarsInjectionPolicy: "Allowed", networkPolicyManagement: "Unmanaged" } }),
  );
  const metadata = { labels: { "controller-uid": pool?.metadata.uid }, ownerReferences: [ownerOf(pool)] };
  await put(...Array.from({ length: 3 }, (_, index) => aMember(index + 1, { applied: { metadata } })));
  const inner = server.connect({
    fault(request) {
      world.requests.push(request);
      return world.fault(request);
    },
  });
  const api = { ...inner, send: async (request: ApiRequest) => (await world.hold(request), await inner.send(request)) };
  const { kubeconfig } = await serveApi(api, "binder");
  const find = (apiVersion: string, kind: string, name: string) =>
    server.store.objects(apiVersion, kind).find(({ metadata }) => metadata.name === name);
  const putLease = (holderIdentity: string, leaseDurationSeconds: number) =>
    put({
      ...LEASE,
      metadata: { namespace: "system", name: "hookbox-binder" },
      spec: { holderIdentity, leaseDurationSeconds },
    });
  const lease = () => find(LEASE.apiVersion, LEASE.kind, "hookbox-binder")?.["spec"] as Record<string, unknown>;
  const claim = (name: string) =>
    find("extensions.agents.x-k8s.io/v1beta1", "SandboxClaim", name) as unknown as SandboxClaim | undefined;
  const sandboxOf = (name: string) => claim(name)?.status?.sandbox?.name;
  return {
    ...{ world, kubeconfig, put, putLease, find, lease, claim, sandboxOf },
    writes: () => world.requests.filter(isWrite),
  };
}

interface Started extends MainProcess {
  port: number;
  get(path: string): Promise<string>;
}

/** Starts packages/binder/main.ts with a port for its probes. */
export async function start(kubeconfig: string, ...flags: string[]): Promise<Started> {
  const [port = 0] = await freePorts(1);
  const own = ["--kubeconfig", kubeconfig, "--namespace", "system", "--port", `${port}`];
  const args = ["packages/binder/main.ts", ...own, ...flags];
  const binder = await startMain("node", args, "Starting");
  return { ...binder, port, get: async (path) => (await send(port, "GET", path)).text };
}
