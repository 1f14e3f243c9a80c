/**
 * Selects the sandboxes that a session may use, its own and those that match the selector, and formats them.
 * @module
 */
import * as z from "zod";
import type { SandboxClient } from "../../sdk/client.ts";
import { NotFoundError, SandboxNotFoundError } from "../../sdk/errors.ts";
import type { SandboxInfo } from "../../sdk/options.ts";

/** Labels that an object must have; all of them. */
export type Labels = Readonly<Record<string, string>>;

/** A sandbox as a session sees it. */
export interface VisibleSandbox extends SandboxInfo {
  /** Whether the session created it. */
  isOwn: boolean;
}

/** Functions that return only sandboxes that the session may use. */
export interface VisibleSandboxes {
  /** Reads the state of a sandbox. @throws {NotFoundError} if there is none that the session may use */
  look(name: string, signal: AbortSignal): Promise<VisibleSandbox>;
  /**
   * As `look`, but returns undefined if no such sandbox exists.
   *
   * @throws {NotFoundError} if the session may not use it
   */
  lookIfAny(name: string, signal: AbortSignal): Promise<VisibleSandbox | undefined>;
  /** Lists all sandboxes that the session may use, sorted by name. */
  list(signal: AbortSignal): Promise<VisibleSandbox[]>;
  /** Lists the sandboxes that the session created. */
  listOwn(signal: AbortSignal): Promise<VisibleSandbox[]>;
}

/**
 * Creates the functions.
 *
 * @param own labels of the session's sandboxes @param selector labels of shared sandboxes; empty: none
 */
export function createVisibleSandboxes(client: SandboxClient, own: Labels, selector: Labels): VisibleSandboxes {
  const withOwner = (info: SandboxInfo): VisibleSandbox => ({ ...info, isOwn: matches(info.labels, own) });
  const isAllowed = ({ isOwn, labels }: VisibleSandbox) =>
    isOwn || Object.keys(selector).length > 0 && matches(labels, selector);

  async function lookIfAny(name: string, signal: AbortSignal): Promise<VisibleSandbox | undefined> {
    const info = await client.getInfo(name, { signal }).catch((error) => {
      if (error instanceof SandboxNotFoundError) return undefined;
      throw error;
    });
    const found = info && withOwner(info);
    if (found && !isAllowed(found)) throw missing(name);
    return found;
  }

  async function list(signal: AbortSignal, selectors: Labels[]): Promise<VisibleSandbox[]> {
    const found = new Map<string, VisibleSandbox>();
    for (const labels of selectors) {
      const labelSelector = Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(",");
      if (labelSelector === "") continue;
      for await (const info of client.list({ labelSelector, signal })) found.set(info.name, withOwner(info));
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

/**
 * The message is the same if the sandbox does not exist and if it belongs to others, so that the agent cannot tell
 * which.
 */
function missing(name: string): NotFoundError {
  return new NotFoundError(`Cannot find sandbox "${name}": it does not exist, or this session may not use it`, {
    reason: "SandboxNotFound",
    remedy: "list_sandboxes shows those that it may use, create_sandbox creates one.",
  });
}

function matches(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** Schema of a sandbox. */
export const SANDBOX_SCHEMA = {
  name: z.string(),
  state: z.enum(["Ready", "Starting", "Suspended", "Failed", "Terminating"]),
  reason: z.string().describe("Reason of the state, in one word; may be empty"),
  message: z.string(),
  pool: z.string().optional(),
  createdAt: z.string().describe("RFC 3339"),
  expiresAt: z.string().optional().describe("When it will be deleted, RFC 3339; absent: never by itself"),
  isOwn: z.boolean().describe("Whether this session created it"),
};

/** Returns a sandbox in this form. */
export function sandboxData({ name, state, reason, message, pool, createdAt, expiresAt, isOwn }: VisibleSandbox) {
  return {
    name,
    state,
    reason,
    message,
    ...pool === undefined ? {} : { pool },
    createdAt: createdAt.toISOString(),
    ...expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() },
    isOwn,
  };
}

/** Describes a sandbox in one line. */
export function sandboxLine({ name, state, reason, message, pool, expiresAt, isOwn }: VisibleSandbox): string {
  const why = state === "Ready" ? "" : [reason, message].filter(Boolean).join(": ");
  const parts = [
    `${name}: ${state}${why && ` (${why})`}`,
    ...pool === undefined ? [] : [`from pool ${pool}`],
    ...expiresAt === undefined ? [] : [`deleted at ${expiresAt.toISOString()}`],
    ...isOwn ? [] : ["not created by this session"],
  ];
  return parts.join(", ");
}
