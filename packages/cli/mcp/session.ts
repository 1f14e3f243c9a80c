/** One session of an agent: the sandboxes that it may use, and what happens to them. @module */
import type { SandboxClient } from "../../sdk/client.ts";
import { ConflictError, RateLimitError } from "../../sdk/errors.ts";
import type { CreateOptions } from "../../sdk/options.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import { createVisibleSandboxes, type Labels, type VisibleSandbox, type VisibleSandboxes } from "./visible.ts";

/** Limits of every session. The operator sets them; an agent cannot change them. */
export interface Scope {
  /** Pools for sandboxes; the first one is the default. Empty: every pool and template is allowed. */
  pools: readonly string[];
  /** Finds pools if neither the agent nor `pools` names one. */
  findPools: (signal: AbortSignal) => Promise<string[]>;
  /** Whether sandboxes may be created from any image. */
  allowImages: boolean;
  /**
   * Labels of sandboxes that every session may use, in addition to its own. A sandbox must have all of them. Empty: no
   * such sandboxes.
   */
  selector: Readonly<Record<string, string>>;
  /** Default and longest lifetime of a sandbox, in milliseconds. */
  lifetimeMs: number;
  maxLifetimeMs: number;
  /** Largest number of sandboxes that a session has at a time. */
  maxSandboxes: number;
  /** Whether sandboxes of a session are deleted when it ends. */
  deleteOnExit: boolean;
  /** Folder on this machine from and to which files may be copied; undefined: none. */
  localRoot: string | undefined;
  /** User of the sandboxes that commands, code and requests for files run as. Undefined: as the template chooses. */
  user: string | undefined;
}

/**
 * Label of a session's sandboxes; its value is the session's id. Source: Agent Sandbox API, section 4, label of the MCP
 * server.
 */
const SESSION_LABEL = "mcp.k8s-agent-sandbox/session-id";
/** How long a session may take at its end to delete its sandboxes, in milliseconds. */
const END_MS = 10_000;

/** An operation on a sandbox that the session may use. */
type Work<T> = (client: SandboxClient, options: { signal: AbortSignal }) => Promise<T>;

/** The sandboxes of one session. Calls throw {@link NotFoundError} for sandboxes that it may not use. */
export interface Session {
  /** A UUID. It is not a secret: users can read it on the sandboxes. */
  id: string;
  /** Creates a sandbox with the session's label. @throws {RateLimitError} if the session has reached its limit */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Reads the state of a sandbox. */
  look(name: string, signal: AbortSignal): Promise<VisibleSandbox>;
  /** Opens a sandbox; resumes it if it is suspended. */
  open(name: string, signal: AbortSignal): Promise<SandboxHandle>;
  /** Names of sandboxes that `open` has resumed, and whose loss of processes no result has reported yet. */
  resumed: Set<string>;
  /** Runs an operation on a sandbox, which need not be Ready. */
  manage<T>(name: string, signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Lists the sandboxes that the session may use, sorted by name. */
  list(signal: AbortSignal): Promise<VisibleSandbox[]>;
  /** Deletes a sandbox; returns false if it was gone. */
  remove(name: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Ends the session: cancels running calls, and with `deleteOnExit` deletes its sandboxes. Returns the names of those
   * deleted.
   */
  end(): Promise<string[]>;
}

/** Starts a session. */
export function createSession(client: SandboxClient, scope: Scope): Session {
  const id = crypto.randomUUID();
  const own: Labels = { [SESSION_LABEL]: id };
  const ending = new AbortController();
  const until = (signal: AbortSignal) => AbortSignal.any([signal, ending.signal]);
  const handles = new Map<string, SandboxHandle>();
  const resumed = new Set<string>();
  const visible = createVisibleSandboxes(client, own, scope.selector);
  const creation = createSandboxCreation({ client, visible, own, most: scope.maxSandboxes, known: () => handles.size });
  let ended: Promise<string[]> | undefined;

  async function end(): Promise<string[]> {
    ending.abort(new Error("Cannot go on: the session has ended"));
    await creation.settled();
    const deleted = scope.deleteOnExit ? await deleteOwn(client, visible) : [];
    await Promise.allSettled([...handles.values()].map((handle) => handle.disconnect()));
    return deleted;
  }

  return {
    id,
    resumed,
    look: (name, signal) => visible.look(name, until(signal)),
    list: (signal) => visible.list(until(signal)),
    end: () => ended ??= end(),
    async create(options, signal) {
      ending.signal.throwIfAborted();
      const handle = await creation.create(options, until(signal));
      handles.set(handle.name, handle);
      return handle;
    },
    async open(name, signal) {
      // Looked up in each call: another sandbox of that name may have been created.
      const { sandboxName, state } = await visible.look(name, until(signal));
      if (state === "Suspended") resumed.add(name);
      const known = handles.get(name);
      if (known && known.sandboxName === sandboxName) return known;
      const handle = await client.connect(name, { signal: until(signal) });
      handles.set(name, handle);
      return handle;
    },
    async manage(name, signal, work) {
      await visible.look(name, until(signal));
      return await work(client, { signal: until(signal) });
    },
    async remove(name, signal) {
      const found = await visible.lookIfAny(name, until(signal));
      await handles.get(name)?.disconnect();
      handles.delete(name);
      resumed.delete(name);
      return found !== undefined && await client.kill(name, { signal: until(signal) });
    },
  };
}

/**
 * Deletes the session's sandboxes, as far as a few seconds allow. The remaining ones are deleted when their lifetime
 * ends.
 */
async function deleteOwn(client: SandboxClient, visible: VisibleSandboxes): Promise<string[]> {
  const signal = AbortSignal.timeout(END_MS);
  const existing = await visible.listOwn(signal).catch(() => []);
  const names = existing.filter(({ state }) => state !== "Terminating").map(({ name }) => name);
  const deleted = await Promise.all(names.map((name) => client.kill(name, { signal }).catch(() => false)));
  return names.filter((_, at) => deleted[at]);
}

/** Creates sandboxes for one session. */
interface SandboxCreation {
  /** Creates a sandbox. @throws {RateLimitError} if the session has reached its limit */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Resolves when no creation is running. */
  settled(): Promise<void>;
}

/** Options of the creation. */
interface SandboxCreationOptions {
  client: SandboxClient;
  visible: VisibleSandboxes;
  /** Labels of the session's sandboxes. */
  own: Labels;
  most: number;
  /** Returns the largest possible number of the session's sandboxes; some may have been deleted. */
  known: () => number;
}

/** Creates the functions that create sandboxes for a session. */
function createSandboxCreation({ client, visible, own, most, known }: SandboxCreationOptions): SandboxCreation {
  /** Names of sandboxes that are being created, in the order of the requests. */
  const coming = new Map<string, Promise<void>>();

  /** If several requests run at the same time, the earlier ones get the free places. */
  async function checkRoom(name: string, signal: AbortSignal): Promise<void> {
    const names = [...coming.keys()];
    const earlier = names.slice(0, names.indexOf(name));
    const later = new Set(names.slice(earlier.length));
    if (known() + earlier.length < most) return;
    const existing = (await visible.listOwn(signal)).map(({ name }) => name).filter((name) => !later.has(name));
    if (new Set([...existing, ...earlier]).size >= most) throw tooMany(most);
  }

  async function make(name: string, options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle> {
    await checkRoom(name, signal);
    const labels = { ...options.labels, ...own };
    return await client.create({ ...options, name, labels, signal }).catch((error) => {
      throw error instanceof ConflictError ? nameTaken(name) : error;
    });
  }

  return {
    async create(options, signal) {
      const { name = `sandbox-${crypto.randomUUID().slice(0, 8)}` } = options;
      if (coming.has(name)) throw nameTaken(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      coming.set(name, promise);
      return await make(name, options, signal).finally(() => {
        coming.delete(name);
        resolve();
      });
    },
    settled: async () => void await Promise.all(coming.values()),
  };
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
