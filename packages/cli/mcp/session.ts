/** One session of an agent: what it may do to which sandboxes, and what becomes of them. Knows no tool and no transport. @module */
import type { SandboxClient } from "../../sdk/client.ts";
import type { CreateOptions } from "../../sdk/options.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import { createMaking } from "./making.ts";
import type { Scope } from "./scope.ts";
import { createSight, type Labels, type Seen, type Sight } from "./sight.ts";

/** Label on what a session has made: its id. Source: Agent Sandbox API, section 4, label of the MCP server. */
export const SESSION_LABEL = "mcp.k8s-agent-sandbox/session-id";
/** How long the end of a session may take over deleting, in milliseconds. */
const END_MS = 10_000;

/** What to do to a sandbox that the session may use. */
export type Work<T> = (client: SandboxClient, options: { signal: AbortSignal }) => Promise<T>;

/** Sandboxes of one session. Its calls throw {@link NotFoundError} for those that it may not use. */
export interface Session {
  /** A UUID, which everybody may read on the sandboxes: it opens nothing. */
  id: string;
  /** Makes one that is marked as the session's. @throws {RateLimitError} if the session has all it may have */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Reads how one is. */
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
      // Looked at each time: somebody else may have made another one of that name.
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

/** Deletes what the session has made, as far as it can be done in a few seconds; its lifetime ends the rest. */
async function deleteOwn(client: SandboxClient, sight: Sight): Promise<string[]> {
  const signal = AbortSignal.timeout(END_MS);
  const standing = await sight.listOwn(signal).catch(() => []);
  const names = standing.filter(({ state }) => state !== "Terminating").map(({ name }) => name);
  const deleted = await Promise.all(names.map((name) => client.kill(name, { signal }).catch(() => false)));
  return names.filter((_, at) => deleted[at]);
}
