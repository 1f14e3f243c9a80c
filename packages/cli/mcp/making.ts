/** Creates the sandboxes of a session, up to its limit. @module */
import type { SandboxClient } from "../../sdk/client.ts";
import { ConflictError, RateLimitError } from "../../sdk/errors.ts";
import type { CreateOptions } from "../../sdk/options.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import type { Labels, Sight } from "./sight.ts";

/** Creates sandboxes for one session. */
export interface Making {
  /** Creates a sandbox. @throws {RateLimitError} if the session has reached its limit */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Resolves when no creation is running. */
  settled(): Promise<void>;
}

/** Options of the creation. */
export interface MakingOptions {
  client: SandboxClient;
  sight: Sight;
  /** Labels of the session's sandboxes. */
  own: Labels;
  most: number;
  /** Returns the largest possible number of the session's sandboxes; some may have been deleted. */
  known: () => number;
}

/** Creates the functions. */
export function createMaking({ client, sight, own, most, known }: MakingOptions): Making {
  /** Names of sandboxes that are being created, in the order of the requests. */
  const coming = new Map<string, Promise<void>>();

  /** If several requests run at the same time, the earlier ones get the free places. */
  async function checkRoom(name: string, signal: AbortSignal): Promise<void> {
    const names = [...coming.keys()];
    const earlier = names.slice(0, names.indexOf(name));
    const later = new Set(names.slice(earlier.length));
    if (known() + earlier.length < most) return;
    const standing = (await sight.listOwn(signal)).map(({ name }) => name).filter((name) => !later.has(name));
    if (new Set([...standing, ...earlier]).size >= most) throw tooMany(most);
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
