/** Makes the sandboxes of a session, and no more than it may have. @module */
import type { SandboxClient } from "../../sdk/client.ts";
import { ConflictError, RateLimitError } from "../../sdk/errors.ts";
import type { CreateOptions } from "../../sdk/options.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import type { Labels, Sight } from "./sight.ts";

/** What makes them. */
export interface Making {
  /** Makes one. @throws {RateLimitError} if the session has all it may have */
  create(options: CreateOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /** Resolves when none is being made any more. */
  settled(): Promise<void>;
}

/** What the session is. */
export interface MakingOptions {
  client: SandboxClient;
  sight: Sight;
  /** Labels of what it makes. */
  own: Labels;
  most: number;
  /** How many it has at most: some of them may be gone. */
  known: () => number;
}

/** Makes the maker. */
export function createMaking({ client, sight, own, most, known }: MakingOptions): Making {
  /** Names of those to come, in the order in which they were asked for, until it is known what has become of them. */
  const coming = new Map<string, Promise<void>>();

  /** Of several at once the earlier ones have the places that are left. */
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
