/** Follows all objects of a namespace by watches, and keeps what their conditions were, step by step. Decides nothing. @module */
import { type Api, type ObjectPath, pathOf } from "../../kube/api.ts";
import { listAndWatch } from "../../kube/watch.ts";
import { type KubeObject, kubeObjectSchema } from "../../api/objects/objects.ts";
import { conditionWords } from "./digest.ts";
import { type Kind, KINDS } from "./kinds.ts";

/** What the conditions of an object were one after the other, by type. */
export type Passing = Record<string, string[]>;

export interface Recorder {
  /** Everything that exists, as far as the watches have shown. */
  objects(kind: Kind): KubeObject[];
  /** When something was shown last, by the clock; when following began if nothing was. */
  lastAt(): number;
  /** What each object of ours, by `<kind>/<name>`, was like since the last `turn`; begins with what it was like then. */
  passing(): ReadonlyMap<string, Passing>;
  /** Begins anew: the next step. */
  turn(): void;
  /** What each object was like since the beginning. */
  all(): ReadonlyMap<string, Passing>;
}

/** Begins to follow; resolves when what exists has been seen. */
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
    for (const [type, words] of Object.entries(conditionWords(object))) {
      for (const book of [all, passing]) note(book, key, type, words);
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
        const tracks = Object.entries(conditionWords(object)).map(([type, words]) => [type, [words]]);
        if (tracks.length > 0) passing.set(`${object.kind}/${object.metadata.name}`, Object.fromEntries(tracks));
      }
    },
  };
}

interface Observer {
  observe(kind: Kind, object: KubeObject): void;
  gone(uid: string): void;
}

/** Follows the objects of all kinds; resolves when all that exist have been seen. */
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
    // A list of built-in kinds does not say the kind of its items.
    const parse = (object: unknown) => kubeObjectSchema.safeParse({ apiVersion: "v1", kind, ...object as object }).data;
    void listAndWatch(api, { path: pathOf({ resource, namespace }), parse }, handler, { log: () => {}, signal });
    return listed.promise;
  }));
}

function note(book: Map<string, Passing>, key: string, type: string, words: string): void {
  const tracks = book.get(key) ?? {};
  const track = tracks[type] ?? [];
  if (track.at(-1) !== words) book.set(key, { ...tracks, [type]: [...track, words] });
}
