/** How often a pool is answered: seldom enough that what happens to its members is answered together. @module */
import type { SentRequest } from "../../lib/hook.ts";
import type { Spacing } from "../../lib/pace.ts";
import type { WarmPoolConfig } from "./config.ts";

/** From so many members on, each sync carries so much that it is made more seldom. */
const LARGE = 25;
/** Longest interval, in shortest ones; an answer must not come too late for Metacontroller. */
const LONGEST = 3;

/**
 * Returns how far apart the answers for one pool are: `poolIntervalMs` for up to 25 members, for more in
 * proportion, three times as long at most. Metacontroller sends, merges and compares all members in each sync.
 */
export function answerSpacing(
  { parent, children = {} }: SentRequest,
  { poolIntervalMs }: Pick<WarmPoolConfig, "poolIntervalMs">,
): Spacing | undefined {
  const { uid } = parent?.metadata ?? {};
  if (uid === undefined) return undefined;
  const members = Object.values(children).reduce((sum, objects) => sum + Object.keys(objects).length, 0);
  return { key: uid, intervalMs: poolIntervalMs * Math.min(LONGEST, Math.max(1, members / LARGE)) };
}
