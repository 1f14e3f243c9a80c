/** Which sandboxes a session sees: those it has made, and those of the selector. Changes nothing. @module */
import type { SandboxClient } from "../../sdk/client.ts";
import { NotFoundError, SandboxNotFoundError } from "../../sdk/errors.ts";
import type { SandboxInfo } from "../../sdk/options.ts";

/** Labels that all must match. */
export type Labels = Readonly<Record<string, string>>;

/** A sandbox as a session sees it. */
export interface Seen extends SandboxInfo {
  /** The session has made it. */
  isOwn: boolean;
}

/** What a session sees. */
export interface Sight {
  /** Reads how one is. @throws {NotFoundError} if there is none that the session may use */
  look(name: string, signal: AbortSignal): Promise<Seen>;
  /** The same; undefined if there is none at all. @throws {NotFoundError} if it is somebody else's */
  lookIfAny(name: string, signal: AbortSignal): Promise<Seen | undefined>;
  /** Lists all that it may use, in order of name. */
  list(signal: AbortSignal): Promise<Seen[]>;
  /** Lists what it has made. */
  listOwn(signal: AbortSignal): Promise<Seen[]>;
}

/** Makes it. @param own labels of what the session makes @param selector of what all may use; empty: nothing */
export function createSight(client: SandboxClient, own: Labels, selector: Labels): Sight {
  const seen = (info: SandboxInfo): Seen => ({ ...info, isOwn: matches(info.labels, own) });
  const isAllowed = ({ isOwn, labels }: Seen) => isOwn || Object.keys(selector).length > 0 && matches(labels, selector);

  async function lookIfAny(name: string, signal: AbortSignal): Promise<Seen | undefined> {
    const info = await client.getInfo(name, { signal }).catch((error) => {
      if (error instanceof SandboxNotFoundError) return undefined;
      throw error;
    });
    const found = info && seen(info);
    if (found && !isAllowed(found)) throw missing(name);
    return found;
  }

  async function list(signal: AbortSignal, selectors: Labels[]): Promise<Seen[]> {
    const found = new Map<string, Seen>();
    for (const labels of selectors) {
      const labelSelector = Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(",");
      if (labelSelector === "") continue;
      for await (const info of client.list({ labelSelector, signal })) found.set(info.name, seen(info));
    }
    return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  return {
    lookIfAny,
    async look(name, signal) {
      const found = await lookIfAny(name, signal);
      if (found) return found;
      throw missing(name);
    },
    list: (signal) => list(signal, [own, selector]),
    listOwn: (signal) => list(signal, [own]),
  };
}

/** The same words for what does not exist and for what is others': an agent learns nothing of those. */
function missing(name: string): NotFoundError {
  return new NotFoundError(`Cannot find sandbox "${name}": it does not exist, or this session may not use it`, {
    reason: "SandboxNotFound",
    remedy: "list_sandboxes shows those that it may use, create_sandbox makes one.",
  });
}

function matches(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}
