/**
 * Reads and writes the transcript of one run: its syncs as JSON lines, in which every state of an object occurs only
 * once. @module
 */
import { canonicalJson, sameJson } from "../../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Resource } from "../../../packages/testing/store/store.ts";

/** The header of the file. */
interface Header {
  /** Version of the recorded Metacontroller. */
  metacontroller: string;
  /** The scenario file, or the file of tests, that ran. */
  of: string;
  /** The served resources, limited to those that the syncs need. */
  resources: Resource[];
}

interface Refusal {
  status: number;
  reason: string;
  message: string;
}

/** A request to the API server, except lists and watches. */
export interface Request {
  verb: "get" | "create" | "update" | "updateStatus" | "delete";
  apiVersion: string;
  plural: string;
  namespace?: string;
  name: string;
  /** The options of a delete; absent for a get. */
  body?: Json;
  /** The object after the request; undefined: Metacontroller does not read it. */
  answer?: KubeObject;
  refusal?: Refusal;
}

/** One sync of one parent. */
export interface Sync {
  /** The controller as the API server sent it. */
  controller: KubeObject;
  /** The parent from the cache. */
  parent: KubeObject;
  /** All other cached objects that may matter: children, possible children, and related objects. */
  cached: KubeObject[];
  /**
   * For objects for which a watch event had just arrived: the states, one of which was cached, newest first. null: it
   * may not have been cached.
   */
  unsure?: (KubeObject | null)[][];
  /**
   * The customize hook's last answer for this parent and generation. `request` is set if the hook was called for this
   * very state.
   */
  customize?: { request?: Json; answer: Json };
  /** The requests before and after the hook call. */
  before: Request[];
  call: { hook: string; request: Json; status: number; retryAfter?: string; answer: Json };
  after: Request[];
  /** Whether the sync failed, so that Metacontroller created an Event. */
  failed?: true;
}

/** Something that happened to a controller. `at` is in milliseconds. */
export type Moment =
  /** A list or watch showed an object, or that it was deleted. */
  | { at: number; shown: KubeObject; gone?: boolean }
  /**
   * A sync that called a hook began, for the parent with this UID. `again`: it will be tried again after so many
   * milliseconds.
   */
  | { at: number; called: string; again?: number };

/** What a controller received and did, in order. */
export interface Course {
  controller: KubeObject;
  moments: Moment[];
  /** Answers of the customize hook. */
  customized: { uid: string; generation: number; answer: Json }[];
}

export interface Transcript {
  header: Header;
  syncs: Sync[];
  courses: Course[];
}

/** An object in the file: its name, its difference from another object (a JSON merge patch), or the object itself. */
type Written = string | { like: string; but: Json } | { is: KubeObject };

/**
 * Writes a transcript: the header, the syncs and the courses. Each follows the states of objects that it is the first
 * to use.
 */
export function writeTranscript({ header, syncs, courses }: Transcript): string {
  const lines: Json[] = [{ header }];
  const book = createBook((line) => lines.push(line));
  for (const sync of syncs) lines.push({ sync: mapObjects(sync, book.write) });
  for (const course of courses) lines.push({ course: mapObjects(course, book.write) });
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

/** Reads a transcript of {@link writeTranscript}. */
export function readTranscript(text: string): Transcript {
  const [{ header }, ...lines] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const states = new Map<string, KubeObject>();
  const stateOf = (written: Written): KubeObject => {
    if (typeof written === "object" && "is" in written) return written.is;
    const name = typeof written === "string" ? written : written.like;
    const state = states.get(name);
    if (!state) throw new RangeError(`Cannot read transcript: ${name} is used before it is defined`);
    return typeof written === "string" ? state : patched(state, written.but) as KubeObject;
  };
  const syncs: Sync[] = [];
  const courses: Course[] = [];
  for (const line of lines) {
    if (line.object) states.set(line.object, stateOf(line.state));
    else if (line.sync) syncs.push(unmapObjects(line.sync, stateOf) as Sync);
    else courses.push(unmapObjects(line.course, stateOf) as Course);
  }
  return { header, syncs, courses };
}

/**
 * Assigns names to states of objects. A name consists of kind, name and resourceVersion. If there is no
 * resourceVersion, or another state has the name, `#n` is appended.
 */
function createBook(emit: (line: Json) => void) {
  const states = new Map<string, KubeObject>();
  const latest = new Map<string, string>();
  const variants = new Map<string, string>();

  function add(key: string, like: string | undefined, object: KubeObject): string {
    const before = like === undefined ? undefined : states.get(like);
    emit({ object: key, state: like && before ? shorter(like, before, object) : { is: object } });
    states.set(key, object);
    return key;
  }

  return {
    write(object: KubeObject): Written {
      const { uid, name, resourceVersion } = object.metadata;
      const title = `${object.kind}/${name}`;
      const key = `${title}@${resourceVersion}`;
      const known = resourceVersion === undefined ? undefined : states.get(key);
      if (known && sameJson(known, object)) return key;
      const family = resourceVersion === undefined ? title : uid ?? title;
      const like = known ? key : latest.get(family);
      if (!known && resourceVersion !== undefined) {
        latest.set(family, key);
        return add(key, like, object);
      }
      const text = canonicalJson(object);
      const variant = variants.get(text) ?? add(`${known ? key : title}#${variants.size + 1}`, like, object);
      variants.set(text, variant);
      if (!known) latest.set(family, variant);
      return variant;
    },
  };
}

function shorter(like: string, known: KubeObject, object: KubeObject): Written {
  const but = difference(known, object);
  return sameJson(patched(known, but), object) ? { like, but } : { is: object };
}

/** Returns a JSON merge patch. Not every change can be expressed, because null can also be a value. */
function difference(from: Json, to: Json): Json {
  const gone = Object.keys(from).filter((key) => !Object.hasOwn(to, key)).map((key) => [key, null]);
  const changed = Object.entries(to).filter(([key, value]) => !sameJson(from[key], value)).map(([key, value]) => {
    const old = from[key];
    return [key, isObject(old) && isObject(value) ? difference(old, value) : value];
  });
  return Object.fromEntries([...gone, ...changed]);
}

function patched(from: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Json = { ...isObject(from) ? from : {} };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = patched(result[key], value);
  }
  return result;
}

const MARK = "$";

/** Replaces every complete object, whether observed or desired. */
function mapObjects(value: unknown, write: (object: KubeObject) => Written): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, write));
  if (!isObject(value)) return value;
  if (isWhole(value)) return { [MARK]: write(value) };
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, mapObjects(field, write)]));
}

function unmapObjects(value: unknown, stateOf: (written: Written) => KubeObject): unknown {
  if (Array.isArray(value)) return value.map((item) => unmapObjects(item, stateOf));
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, MARK)) return stateOf(value[MARK] as Written);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, unmapObjects(field, stateOf)]));
}

function isWhole(value: Json): value is KubeObject {
  const metadata = value["metadata"];
  return typeof value["kind"] === "string" && isObject(metadata) && typeof metadata["name"] === "string";
}
