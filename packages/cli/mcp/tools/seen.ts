/** Formats a sandbox for tools and resources. @module */
import * as z from "zod";
import type { Seen } from "../sight.ts";

/** Schema of a sandbox. */
export const SEEN = {
  name: z.string(),
  state: z.enum(["Ready", "Starting", "Suspended", "Failed", "Terminating"]),
  reason: z.string().describe("One word on the state; may be empty"),
  message: z.string(),
  pool: z.string().optional(),
  createdAt: z.string().describe("RFC 3339"),
  expiresAt: z.string().optional().describe("When it will be deleted, RFC 3339; absent: never by itself"),
  isOwn: z.boolean().describe("This session has made it"),
};

/** Returns a sandbox in this form. */
export function shown({ name, state, reason, message, pool, createdAt, expiresAt, isOwn }: Seen) {
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
export function lineOf({ name, state, reason, message, pool, expiresAt, isOwn }: Seen): string {
  const why = state === "Ready" ? "" : [reason, message].filter(Boolean).join(": ");
  const parts = [
    `${name}: ${state}${why && ` (${why})`}`,
    ...pool === undefined ? [] : [`from pool ${pool}`],
    ...expiresAt === undefined ? [] : [`deleted at ${expiresAt.toISOString()}`],
    ...isOwn ? [] : ["not made by this session"],
  ];
  return parts.join(", ");
}
