/**
 * Lets the real Metacontroller merge random children, and compares the results with packages/api/objects/apply.ts.
 * @module
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import type { Api } from "../../../packages/kube/api.ts";
import { applyUpdate, canonicalJson, LAST_APPLIED_ANNOTATION, sameJson } from "../../../packages/api/objects/apply.ts";
import type { Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { orAborted } from "../../../packages/sdk/runtime/call.ts";
import { type MergeCase, mergeCases } from "./mergecases.ts";
import { type Merge, writeMerges } from "./mergefile.ts";
import type { Recorder } from "./transcripts.ts";
import { makeNamespace, type RecordingWorld, startRecordingWorld } from "./world.ts";

interface MergeOptions extends Recorder {
  cases: number;
  /** How many merges to write to the file. */
  keep: number;
  seed: number;
}

const GROUP = "m.io";
const API = `${GROUP}/v1`;
const NAMESPACE = "merge-namespace";
const BATCH = 200;
const AT_ONCE = 16;
const SHOWN = 5;

/**
 * Returns what dynamic apply would write in an update of a child, to be compared with {@link Merge}; undefined:
 * nothing.
 */
export function mergeOf({ observed, desired }: Merge): KubeObject | undefined {
  const wanted = { ...desired, metadata: { ...desired["metadata"] as Json, namespace: observed.metadata.namespace } };
  try {
    const updated = applyUpdate(observed, wanted);
    return sameJson(updated, observed) ? undefined : updated;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Several children of one owner, which are merged in one sync. */
interface Batch {
  owner: string;
  children: { name: string; desired: Json }[];
  /** The texts of the written objects, by name. */
  written: Map<string, string>;
  /** The children as the hook received them. */
  observed: Map<string, KubeObject>;
  done: PromiseWithResolvers<void>;
}

/** Writes merges.jsonl. @throws {Error} if the result of packages/api/objects/apply.ts differs for a child */
export async function recordMerges(
  { binary, progress, signal, write, cases, keep, seed }: MergeOptions,
): Promise<void> {
  const batches = new Map<string, Batch>();
  const world = await startRecordingWorld({
    binary,
    progress,
    signal,
    nodes: "none",
    intercept: (method, path, _body, text) => {
      const [, plural, name = "", status] = /\/(owners|cases)\/([^/]+)(\/status)?$/.exec(path) ?? [];
      if (method !== "PUT" || !plural) return undefined;
      if (plural === "owners" && status) batches.get(name)?.done.resolve();
      if (plural === "owners") return undefined;
      batches.get(ownerOf(name))?.written.set(name, text);
      // The write is refused, so that nothing changes. Metacontroller ignores a conflict.
      const body = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Conflict", code: 409 };
      return { status: 409, body };
    },
  });
  try {
    await prepare(world, batches);
    progress(`${cases} cases of seed ${seed} …`);
    const place = (index: number) => ({
      apiVersion: API,
      kind: "Case",
      metadata: { name: nameOf(index), namespace: NAMESPACE },
    });
    const all = mergeCases(cases, seed, place);
    const kept: Merge[] = [];
    let [compared, wrote] = [0, 0];
    const differing: string[] = [];
    for (let from = 0; from < all.length; from += BATCH) {
      if (signal.aborted) throw signal.reason;
      for (const { merge, text } of await mergeBatch(world, batches, all.slice(from, from + BATCH), from)) {
        compared++;
        if (merge.written) wrote++;
        if (kept.length < keep) kept.push(merge);
        const ours = mergeOf(merge);
        const same = (ours && `${canonicalJson(ours)}\n`) === text;
        if (!same) differing.push(`${JSON.stringify(merge)}\nlib/apply.ts: ${ours && canonicalJson(ours)}`);
      }
      if (compared % 2000 === 0) progress(`${compared} compared, ${differing.length} differ`);
    }
    progress(`${compared} compared byte for byte, ${wrote} of them were written, ${differing.length} differ`);
    for (const text of differing.slice(0, SHOWN)) progress(text);
    write("merges.jsonl", writeMerges({ metacontroller: world.engines.version(), seed, compared }, kept));
    if (differing.length > 0) throw new Error(`Cannot agree with Metacontroller: ${differing.length} merges differ`);
  } finally {
    await world.stop();
  }
}

function nameOf(index: number): string {
  return `case-${String(index).padStart(7, "0")}`;
}

function ownerOf(name: string): string {
  return `owner-${String(Math.floor(Number(name.slice(5)) / BATCH)).padStart(7, "0")}`;
}

/** Creates the kinds, the hook and the controller. */
async function prepare(world: RecordingWorld, batches: Map<string, Batch>): Promise<void> {
  const { api } = world;
  for (const kind of ["Owner", "Case"]) {
    await create(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crdOf(kind));
  }
  await makeNamespace(api, NAMESPACE);
  for (const plural of ["owners", "cases"]) {
    while ((await api.send({ method: "GET", path: `/apis/${API}/${plural}` })).status !== 200) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const hook = createServer(async (request, response) => {
    const { parent, children } = JSON.parse(await textOf(request));
    const batch = batches.get(parent.metadata.name);
    const shown = Object.values<KubeObject>(children[`Case.${API}`]);
    if (batch?.observed.size !== 0 || shown.length < batch.children.length) {
      return void response.writeHead(429, { "retry-after": "3600" }).end();
    }
    for (const child of shown) batch.observed.set(child.metadata.name, child);
    response.end(JSON.stringify({ status: {}, children: batch.children.map(({ desired }) => desired) }));
  });
  hook.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  world.atEnd(() => {
    hook.closeAllConnections();
    return new Promise((resolve) => hook.close(() => resolve()));
  });
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/merge`;
  await create(api, "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers", {
    apiVersion: "metacontroller.k8s.io/v1alpha1",
    kind: "CompositeController",
    metadata: { name: "merges" },
    spec: {
      parentResource: { apiVersion: API, resource: "owners", ignoreStatusChanges: true },
      childResources: [{ apiVersion: API, resource: "cases", updateStrategy: { method: "InPlace" } }],
      hooks: { sync: { version: "v2", webhook: { url, timeout: "60s" } } },
    },
  });
}

/** Lets Metacontroller merge one batch. The results are in the order of the cases. */
async function mergeBatch(
  { api, signal }: RecordingWorld,
  batches: Map<string, Batch>,
  cases: MergeCase[],
  from: number,
) {
  const name = ownerOf(nameOf(from));
  const children = cases.map(({ desired }, i) => {
    const metadata = { ...desired["metadata"] as Json, name: nameOf(from + i) };
    return { name: metadata.name, desired: { ...desired, apiVersion: API, kind: "Case", metadata } };
  });
  const done = Promise.withResolvers<void>();
  const batch: Batch = { owner: name, children, written: new Map(), observed: new Map(), done };
  batches.set(name, batch);
  // The selector requires no label, so that labels can be merged too.
  const selector = { matchExpressions: [{ key: "never", operator: "DoesNotExist" }] };
  const path = `/apis/${API}/namespaces/${NAMESPACE}`;
  const owner = await create(api, `${path}/owners`, {
    apiVersion: API,
    kind: "Owner",
    metadata: { name },
    spec: { selector },
  });
  const reference = {
    apiVersion: API,
    kind: "Owner",
    name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const left = cases.map((_, i) => i);
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let i = left.shift(); i !== undefined; i = left.shift()) {
      await create(api, `${path}/cases`, observedOf(cases[i] as MergeCase, nameOf(from + i), reference));
    }
  }));
  await orAborted(done.promise, signal);
  batches.delete(name);
  return children.map(({ name, desired }) => {
    const text = batch.written.get(name);
    const observed = batch.observed.get(name) as KubeObject;
    return {
      text,
      merge: { observed, desired, ...(text !== undefined && { written: JSON.parse(text) as KubeObject }) },
    };
  });
}

function observedOf({ observed, last }: MergeCase, name: string, reference: Json): Json {
  const metadata = observed["metadata"] as Json;
  const remembered = last !== undefined && { [LAST_APPLIED_ANNOTATION]: last };
  const annotations = { ...metadata["annotations"] as Json, ...remembered };
  return {
    apiVersion: API,
    kind: "Case",
    ...observed,
    metadata: { ...metadata, name, annotations, ownerReferences: [reference] },
  };
}

async function create(api: Api, path: string, object: Json): Promise<KubeObject> {
  const { status, body } = await api.send({ method: "POST", path, body: object });
  if (status >= 300) throw new Error(`Cannot create ${canonicalJson(object)}: ${canonicalJson(body)}`);
  return body as KubeObject;
}

function crdOf(kind: string): Json {
  const plural = `${kind.toLowerCase()}s`;
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const openAPIV3Schema = kind === "Case" ? open : { type: "object", properties: { spec: open, status: open } };
  return {
    ...{
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${GROUP}` },
    },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema },
      }],
    },
  };
}
