/** Keeper, binder and router's index on one API server in memory: what they say of one namespace, whatever is in others. @module */
import { createBinding } from "../../packages/binder/binder.ts";
import { keep } from "../../packages/keeper/keep.ts";
import { createKeeperMetrics } from "../../packages/keeper/metrics.ts";
import { createRecording } from "../../packages/keeper/observability/recording.ts";
import { createSandboxIndex } from "../../packages/router/index/sandboxindex.ts";
import { watchSandboxes } from "../../packages/router/index/sandboxapi.ts";
import { createLog } from "../../packages/process/log.ts";
import { UNLIMITED } from "../../packages/process/deletionbudget.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";

const PLURALS: Record<string, string> = {
  Sandbox: "/apis/agents.x-k8s.io/v1beta1 sandboxes",
  SandboxClaim: "/apis/extensions.agents.x-k8s.io/v1beta1 sandboxclaims",
  SandboxWarmPool: "/apis/extensions.agents.x-k8s.io/v1beta1 sandboxwarmpools",
  SandboxTemplate: "/apis/extensions.agents.x-k8s.io/v1beta1 sandboxtemplates",
  Pod: "/api/v1 pods",
};

/** Kinds that are watched. */
export const KINDS = Object.keys(PLURALS);

/** An object as the API server shows it: of this kind, whatever its own field says, and with metadata of a name. */
export interface Shown {
  kind: string;
  namespace: string;
  name: string;
  object: Record<string, unknown>;
}

/** Returns the path of an object. */
export function pathOf({ kind, namespace, name }: Omit<Shown, "object">): string {
  const [group, plural] = PLURALS[kind]!.split(" ");
  return `${group}/namespaces/${namespace}/${plural}/${name}`;
}

/** What was said. */
export interface Said {
  /** Of the namespace: requests, figures, records, each once, sorted. */
  ofNamespace: string[];
  lines: string[];
  api: FakeApi;
}

/**
 * Starts them on what is there, shows what comes later, lets time pass, and ends them. Timers are to be faked.
 *
 * @param pass lets so many milliseconds pass
 */
export async function sayOf(
  namespace: string,
  objects: readonly Shown[],
  later: readonly Shown[],
  pass: (ms: number) => Promise<unknown>,
): Promise<Said> {
  const api = createFakeApi();
  // Nothing that is asked for happens: the world stays what it was made.
  api.intercept = ({ method, body }) => method === "GET" ? undefined : { status: 200, body };
  const put = (shown: Shown) => api.put(pathOf(shown), structuredClone(shown.object));
  objects.forEach(put);
  const lines: string[] = [];
  const log = createLog("debug", (line) => lines.push(line));
  const end = new AbortController();
  const metrics = createKeeperMetrics();
  const recording = createRecording(
    { api, log, metrics, claimEvents: true, sandboxEvents: true, cloudEvents: undefined, instance: "here" },
    end.signal,
  );
  const binding = createBinding(api, { allowedLabelDomains: [], templateNetworkPolicy: "optional", log });
  const index = createSandboxIndex(() => {});
  const { signal } = end;
  const router = { log, signal, namespace: undefined, allowLoopbackPodIp: false, onListed: () => {} };
  const reportFor = () => () => {};
  const running = [
    keep(api, {
      allowedLabelDomains: [],

      log,
      reportFor,
      observers: recording.handlers,
      binding,
      budget: UNLIMITED,
    }, signal),
    binding.serve(signal),
    watchSandboxes(api, index, router),
  ];
  await pass(3000);
  later.forEach(put);
  await pass(2000);
  const asked = api.requests.filter(({ path, query }) =>
    path.includes(`/namespaces/${namespace}/`) && !query?.["limit"]
  );
  const figures = (await metrics.text()).split("\n").filter((line) => line.includes(`namespace="${namespace}"`));
  const records = [...index.entries()].filter(({ sandbox }) => sandbox.metadata.namespace === namespace);
  end.abort();
  api.endWatches();
  await pass(0);
  await Promise.all(running);
  const texts = [...asked, ...figures, ...records.map(({ sandbox, pods }) => ({ sandbox, pods }))].map(textOf);
  return { ofNamespace: [...new Set(texts)].sort(), lines, api };
}

/** Versions are counted over all objects, Events have names of their own, and some waits are drawn. */
function textOf(said: unknown): string {
  const text = JSON.stringify(said).replace(/"resourceVersion":"\d+"/g, "").replace(/\.[0-9a-f]{16}"/g, '"');
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
}

/** Makes an object what an API server would show, whatever else has become of it. */
export function shown(kind: string, namespace: string, name: string, value: unknown): Shown {
  const object = typeof value === "object" && value !== null ? { ...value as KubeObject } : {} as KubeObject;
  const metadata = typeof object.metadata === "object" ? object.metadata : {};
  return {
    kind,
    namespace,
    name,
    object: { ...object, metadata: { ...metadata, namespace, name, uid: `uid-${name}` } },
  };
}
