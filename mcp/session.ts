/** One session of an agent: the sandboxes that it has made, and which it may use. Knows no tool and no transport. @module */
import type { SandboxClient } from "../sdk/client.ts";
import { ConflictError, NotFoundError, RateLimitError, SandboxNotFoundError } from "../sdk/errors.ts";
import type { CreateOptions, SandboxInfo } from "../sdk/options.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import type { Scope } from "./scope.ts";

/** Label on what a session has made: its id. Source: Agent Sandbox API, section 4, label of the MCP server. */
export const SESSION_LABEL = "mcp.k8s-agent-sandbox/session-id";
/** How long the end of a session may take over deleting, in milliseconds. */
const END_MS = 10_000;

/** A sandbox as a session sees it. */
export interface Seen extends SandboxInfo {
  /** The session has made it. */
  isOwn: boolean;
}

/** What to do to a sandbox that the session may use. */
export type Work<T> = (client: SandboxClient, options: { signal: AbortSignal }) => Promise<T>;

/** Sandboxes of one session. */
export interface Session {
  /** A UUID. */
  id: string;
  scope: Scope;
  /** Makes one that is marked as the session's. @throws {RateLimitError} if the session has all it may have */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Reads how one is. @throws {NotFoundError} if there is none that the session may use, here and in what follows */
  look(name: string, signal: AbortSignal): Promise<Seen>;
  /** Opens one; wakes it where it is suspended. */
  open(name: string, signal: AbortSignal): Promise<SandboxHandle>;
  /** Does something to one that need not be Ready. */
  manage<T>(name: string, signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Lists those that the session may use, in order of name. */
  list(signal: AbortSignal): Promise<Seen[]>;
  /** Deletes one; false if it is gone. */
  remove(name: string, signal: AbortSignal): Promise<boolean>;
  /** Ends it once: what runs is broken off; with `deleteOnExit` its sandboxes go. Returns the names of those deleted. */
  end(): Promise<string[]>;
}

/** Begins one. */
export function createSession(client: SandboxClient, scope: Scope, id: string = crypto.randomUUID()): Session {
  const own = { [SESSION_LABEL]: id };
  const ending = new AbortController();
  const until = (signal: AbortSignal) => AbortSignal.any([signal, ending.signal]);
  const handles = new Map<string, SandboxHandle>();
  const making = new Set<Promise<SandboxHandle>>();
  const seen = (info: SandboxInfo): Seen => ({ ...info, isOwn: matches(info.labels, own) });
  const isAllowed = ({ isOwn, labels }: Seen) =>
    isOwn || Object.keys(scope.selector).length > 0 && matches(labels, scope.selector);

  async function look(name: string, signal: AbortSignal): Promise<Seen> {
    const info = await client.getInfo(name, { signal: until(signal) }).catch((error) => {
      if (error instanceof SandboxNotFoundError) return undefined;
      throw error;
    });
    const found = info && seen(info);
    if (found && isAllowed(found)) return found;
    // The same words for what does not exist and for what is others': an agent learns nothing of those.
    throw new NotFoundError(`Cannot use sandbox "${name}": there is none of that name that this session may use`, {
      reason: "SandboxNotFound",
      remedy: "list_sandboxes shows those that it may use, create_sandbox makes one.",
    });
  }

  async function list(signal: AbortSignal, selectors = [own, scope.selector]): Promise<Seen[]> {
    const found = new Map<string, Seen>();
    for (const labels of selectors) {
      const labelSelector = Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(",");
      if (labelSelector === "") continue;
      for await (const info of client.list({ labelSelector, signal })) found.set(info.name, seen(info));
    }
    return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  async function makeOne(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle> {
    // Handles may be of sandboxes that are gone: who seems to have too many is counted anew.
    if (making.size + handles.size >= scope.maxSandboxes) {
      const standing = await list(signal, [own]);
      if (standing.length >= scope.maxSandboxes) throw tooMany(scope.maxSandboxes);
    }
    return await client.create({ ...options, labels: { ...options.labels, ...own }, signal });
  }

  async function create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle> {
    ending.signal.throwIfAborted();
    const made = makeOne(options, until(signal));
    making.add(made);
    try {
      const handle = await made;
      handles.set(handle.name, handle);
      return handle;
    } catch (error) {
      if (error instanceof ConflictError && options.name !== undefined) throw nameTaken(options.name);
      throw error;
    } finally {
      making.delete(made);
    }
  }

  async function open(name: string, signal: AbortSignal): Promise<SandboxHandle> {
    const { sandboxName } = await look(name, signal);
    const known = handles.get(name);
    if (known && known.sandboxName === sandboxName) return known;
    const handle = await client.connect(name, { signal: until(signal) });
    handles.set(name, handle);
    return handle;
  }

  async function remove(name: string, signal: AbortSignal): Promise<boolean> {
    const found = await client.getInfo(name, { signal }).catch((error) => {
      if (error instanceof SandboxNotFoundError) return undefined;
      throw error;
    });
    if (found && !isAllowed(seen(found))) await look(name, signal);
    await handles.get(name)?.disconnect();
    handles.delete(name);
    return found !== undefined && await client.kill(name, { signal });
  }

  async function deleteAll(): Promise<string[]> {
    const signal = AbortSignal.timeout(END_MS);
    const standing = await list(signal, [own]).catch(() => []);
    const names = standing.filter(({ state }) => state !== "Terminating").map(({ name }) => name);
    const deleted = await Promise.all(names.map((name) => client.kill(name, { signal }).catch(() => false)));
    return names.filter((_, at) => deleted[at]);
  }

  let ended: Promise<string[]> | undefined;
  async function end(): Promise<string[]> {
    ending.abort(new Error("Cannot go on: the session has ended"));
    await Promise.allSettled(making);
    const deleted = scope.deleteOnExit ? await deleteAll() : [];
    await Promise.allSettled([...handles.values()].map((handle) => handle.disconnect()));
    return deleted;
  }

  return {
    id,
    scope,
    create,
    look,
    open,
    list: (signal) => list(until(signal)),
    remove: (name, signal) => remove(name, until(signal)),
    async manage(name, signal, work) {
      await look(name, signal);
      return await work(client, { signal: until(signal) });
    },
    end: () => ended ??= end(),
  };
}

function matches(labels: Record<string, string>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

function tooMany(limit: number): RateLimitError {
  return new RateLimitError(`Cannot create a sandbox: this session has ${limit}, and may have no more`, {
    reason: "TooManySandboxes",
    remedy: "Use one of them, or delete one with delete_sandbox.",
  });
}

function nameTaken(name: string): ConflictError {
  return new ConflictError(`Cannot create sandbox "${name}": the name is taken`, {
    remedy: "Choose another name, or leave it out.",
  });
}
