/** One session of an agent: the sandboxes that it may use, and what happens to them. @module */
import type { SandboxClient } from "../../sdk/client.ts";
import type { CreateOptions } from "../../sdk/options.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import { createMaking } from "./making.ts";
import type { Scope } from "./scope.ts";
import { createSight, type Labels, type Seen, type Sight } from "./sight.ts";

/**
 * Label of a session's sandboxes; its value is the session's id. Source: Agent Sandbox API, section 4, label of the MCP
 * server.
 */
export const SESSION_LABEL = "mcp.k8s-agent-sandbox/session-id";
/** How long a session may take at its end to delete its sandboxes, in milliseconds. */
const END_MS = 10_000;

/** An operation on a sandbox that the session may use. */
export type Work<T> = (client: SandboxClient, options: { signal: AbortSignal }) => Promise<T>;

/** The sandboxes of one session. Calls throw {@link NotFoundError} for sandboxes that it may not use. */
export interface Session {
  /** A UUID. It is not a secret: users can read it on the sandboxes. */
  id: string;
  /** Creates a sandbox with the session's label. @throws {RateLimitError} if the session has reached its limit */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Reads the state of a sandbox. */
  look(name: string, signal: AbortSignal): Promise<Seen>;
  /** Opens a sandbox; resumes it if it is suspended. */
  open(name: string, signal: AbortSignal): Promise<SandboxHandle>;
  /** Runs an operation on a sandbox, which need not be Ready. */
  manage<T>(name: string, signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Lists the sandboxes that the session may use, sorted by name. */
  list(signal: AbortSignal): Promise<Seen[]>;
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
  const sight = createSight(client, own, scope.selector);
  const making = createMaking({ client, sight, own, most: scope.maxSandboxes, known: () => handles.size });
  let ended: Promise<string[]> | undefined;

  async function end(): Promise<string[]> {
    ending.abort(new Error("Cannot go on: the session has ended"));
    await making.settled();
    const deleted = scope.deleteOnExit ? await deleteOwn(client, sight) : [];
    await Promise.allSettled([...handles.values()].map((handle) => handle.disconnect()));
    return deleted;
  }

  return {
    id,
    look: (name, signal) => sight.look(name, until(signal)),
    list: (signal) => sight.list(until(signal)),
    end: () => ended ??= end(),
    async create(options, signal) {
      ending.signal.throwIfAborted();
      const handle = await making.create(options, until(signal));
      handles.set(handle.name, handle);
      return handle;
    },
    async open(name, signal) {
      // Looked up in each call: another sandbox of that name may have been created.
      const { sandboxName } = await sight.look(name, until(signal));
      const known = handles.get(name);
      if (known && known.sandboxName === sandboxName) return known;
      const handle = await client.connect(name, { signal: until(signal) });
      handles.set(name, handle);
      return handle;
    },
    async manage(name, signal, work) {
      await sight.look(name, until(signal));
      return await work(client, { signal: until(signal) });
    },
    async remove(name, signal) {
      const found = await sight.lookIfAny(name, until(signal));
      await handles.get(name)?.disconnect();
      handles.delete(name);
      return found !== undefined && await client.kill(name, { signal: until(signal) });
    },
  };
}

/**
 * Deletes the session's sandboxes, as far as a few seconds allow. The remaining ones are deleted when their lifetime
 * ends.
 */
async function deleteOwn(client: SandboxClient, sight: Sight): Promise<string[]> {
  const signal = AbortSignal.timeout(END_MS);
  const standing = await sight.listOwn(signal).catch(() => []);
  const names = standing.filter(({ state }) => state !== "Terminating").map(({ name }) => name);
  const deleted = await Promise.all(names.map((name) => client.kill(name, { signal }).catch(() => false)));
  return names.filter((_, at) => deleted[at]);
}
