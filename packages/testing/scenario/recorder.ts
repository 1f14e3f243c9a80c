/** Records all objects of a namespace with watches, and the states of their conditions, step by step. @module */
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import { listAndWatch } from "../../kube/watch.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { kubeObjectSchema } from "../../api/objects/schemas.ts";
import { conditionStates } from "./compare.ts";
import { type Kind, KINDS } from "./format.ts";

/** The successive states of an object's conditions, by type. */
export type Passing = Record<string, string[]>;

export interface Recorder {
  /** The existing objects of a kind, as far as the watches have shown them. */
  objects(kind: Kind): KubeObject[];
  /** When a watch last showed something, by the clock; if none did, when recording began. */
  lastAt(): number;
  /**
   * States of each object of hookbox's kinds since the last `turn`, by `<kind>/<name>`; the first one is the state at
   * `turn`.
   */
  passing(): ReadonlyMap<string, Passing>;
  /** Begins the next step. */
  turn(): void;
  /** States of each object since the beginning. */
  all(): ReadonlyMap<string, Passing>;
}

/** Begins to record; resolves when all existing objects have been listed. */
export async function startRecorder(
  api: Api,
  namespace: string,
  { signal, now }: { signal: AbortSignal; now: () => number },
): Promise<Recorder> {
  const objects = new Map<string, KubeObject>();
  const all = new Map<string, Passing>();
  let passing = new Map<string, Passing>();
  let lastAt = now();

  function observe(kind: Kind, object: KubeObject): void {
    lastAt = now();
    objects.set(object.metadata.uid ?? "", { ...object, kind });
    const key = `${kind}/${object.metadata.name}`;
    for (const [type, state] of Object.entries(conditionStates(object))) {
      for (const book of [all, passing]) addState(book, key, type, state);
    }
  }

  await listAndWatchAll(api, namespace, signal, {
    observe,
    gone(uid) {
      lastAt = now();
      objects.delete(uid);
    },
  });
  return {
    objects: (kind) => [...objects.values()].filter((object) => object.kind === kind),
    lastAt: () => lastAt,
    passing: () => passing,
    all: () => all,
    turn() {
      passing = new Map();
      for (const object of objects.values()) {
        const tracks = Object.entries(conditionStates(object)).map(([type, state]) => [type, [state]]);
        if (tracks.length > 0) passing.set(`${object.kind}/${object.metadata.name}`, Object.fromEntries(tracks));
      }
    },
  };
}

interface Observer {
  observe(kind: Kind, object: KubeObject): void;
  gone(uid: string): void;
}

/** Watches the objects of all kinds; resolves when all existing objects have been listed. */
async function listAndWatchAll(
  api: Api,
  namespace: string,
  signal: AbortSignal,
  { observe, gone }: Observer,
): Promise<void> {
  const kinds = Object.entries(KINDS) as [Kind, ObjectPath["resource"]][];
  await Promise.all(kinds.map(([kind, resource]) => {
    const listed = Promise.withResolvers<void>();
    const handler = { observe: (object: KubeObject) => observe(kind, object), gone, listed: () => listed.resolve() };
    // Items in a list of a built-in kind have no `kind`.
    const parse = (object: unknown) => kubeObjectSchema.safeParse({ apiVersion: "v1", kind, ...object as object }).data;
    void listAndWatch(api, { path: pathOf({ resource, namespace }), parse }, handler, { log: () => {}, signal });
    return listed.promise;
  }));
}

function addState(book: Map<string, Passing>, key: string, type: string, state: string): void {
  const tracks = book.get(key) ?? {};
  const track = tracks[type] ?? [];
  if (track.at(-1) !== state) book.set(key, { ...tracks, [type]: [...track, state] });
}
