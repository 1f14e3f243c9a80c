/** Reads objects for a diagnosis, and records which ones are missing or forbidden. @module */
import type { EventFact } from "../../api/diagnosis/facts.ts";
import { type Api, isOk, messageOf, type ObjectPath, pathOf } from "../../kube/api.ts";

/** Validates what the API server sent. */
interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

export interface FactReader {
  /** Reads one object. `null` if it does not exist; undefined if it could not be read. */
  one<T>(path: ObjectPath & { name: string }, schema?: Schema<T>): Promise<T | null | undefined>;
  /** Reads a collection; undefined if it could not be read. */
  list<T>(path: ObjectPath, query?: Record<string, string>, schema?: Schema<T>): Promise<T[] | undefined>;
  /** Reads the Events of all objects of this name. */
  events(namespace: string, name: string): Promise<EventFact[]>;
  /** The resources that could not be read so far, each once. */
  unreadable(): { what: string; message: string }[];
}

/** Creates a reader. Its functions throw only if the API server does not respond. */
export function createFactReader(api: Api, signal?: AbortSignal): FactReader {
  const unreadable = new Map<string, string>();
  const get = async (path: ObjectPath, query?: Record<string, string>) => {
    const answer = await api.send({ method: "GET", path: pathOf(path), signal, ...(query ? { query } : {}) });
    if (isOk(answer)) return { body: answer.body };
    // If the Status does not name the object, the cluster does not have this resource at all.
    const { details } = (answer.body ?? {}) as { details?: { name?: string } };
    const isMissing = answer.status === 404 && path.name !== undefined && details?.name === path.name;
    if (!isMissing) unreadable.set(path.resource, messageOf(answer));
    return { body: isMissing ? null : undefined };
  };
  const parse = <T>(path: ObjectPath, value: unknown, schema?: Schema<T>): T | undefined => {
    if (!schema) return value as T;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    unreadable.set(path.resource, "it is not as the API describes it");
    return undefined;
  };
  const list: FactReader["list"] = async <T>(path: ObjectPath, query?: Record<string, string>, schema?: Schema<T>) => {
    const { body } = await get(path, query);
    const items = (body as { items?: unknown[] } | null | undefined)?.items;
    return items?.flatMap((item) => parse(path, item, schema) ?? []);
  };
  return {
    async one(path, schema) {
      const { body } = await get(path);
      return body === null || body === undefined ? body : parse(path, body, schema);
    },
    list,
    async events(namespace, name) {
      const query = { fieldSelector: `involvedObject.name=${name}` };
      return (await list<RawEvent>({ resource: "events", namespace }, query) ?? []).map(eventFact);
    },
    unreadable: () => [...unreadable].map(([what, message]) => ({ what, message })),
  };
}

/** A core/v1 Event as the API server returns it. Which fields are set depends on the component that recorded it. */
export interface RawEvent {
  metadata: { creationTimestamp?: string | undefined };
  involvedObject: { kind?: string; namespace?: string; name?: string; uid?: string };
  reason?: string;
  message?: string;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { lastObservedTime?: string };
}

/** Returns when an Event was last seen, in RFC 3339; undefined: not known. */
export function lastSeen({ series, lastTimestamp, eventTime, metadata }: RawEvent): string | undefined {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}

function eventFact(event: RawEvent): EventFact {
  const { involvedObject: { kind = "", namespace, name = "", uid }, reason = "", message = "" } = event;
  const created = event.metadata.creationTimestamp;
  const first = event.firstTimestamp ?? event.eventTime ?? created;
  const last = lastSeen(event);
  return {
    object: { kind, ...(namespace ? { namespace } : {}), name },
    reason,
    message,
    ...(uid ? { uid } : {}),
    ...(first ? { first } : {}),
    ...(last ? { last } : {}),
  };
}
