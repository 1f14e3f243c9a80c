/**
 * Reads the annotation in which the keeper reports why a child of an object cannot be created, changed or deleted.
 * Hooks need it because they do not see the API server's answers. Only the keeper writes and removes it. @module
 */
import * as z from "zod";
import { readJson } from "./objects/json.ts";
import { UNRESOLVED_ANNOTATION } from "./objects/keys.ts";
import type { ObjectMeta } from "./objects/objects.ts";

/**
 * Why one child does not exist or is not up to date.
 *
 * | state | meaning |
 * |---|---|
 * | `taken` | an object with its name exists that does not belong to this parent and may not be taken over |
 * | `invalid` | the API server refuses its content; only another spec helps (`generation` says which spec was refused) |
 * | `refused` | the API server refuses it for now: quota, admission, permissions |
 * | `stuck` | it exists, and the API server refuses to change or delete it |
 * | `missing` | the API server would accept it, but no hook creates it; only for a NetworkPolicy |
 */
const problemSchema = z.object({
  /** The first three are children of a Sandbox. A NetworkPolicy is a template's child, and a Sandbox a pool's. */
  kind: z.enum(["PersistentVolumeClaim", "Pod", "Service", "NetworkPolicy", "Sandbox"]),
  name: z.string(),
  state: z.enum(["taken", "invalid", "refused", "stuck", "missing"]),
  /** For people, with the wording of Agent Sandbox. It becomes part of the Ready condition. */
  message: z.string(),
});
export type Problem = z.infer<typeof problemSchema>;

const unresolvedSchema = z.object({
  /** `metadata.generation` of the parent that the keeper has checked. */
  generation: z.number(),
  /** In the order PersistentVolumeClaims, Pod, Service. */
  problems: z.array(problemSchema),
});
export type Unresolved = z.infer<typeof unresolvedSchema>;

/** Reads the annotation of a parent; undefined: there is none, or it does not have the keeper's format. */
export function readUnresolved(meta: ObjectMeta): Unresolved | undefined {
  return unresolvedSchema.safeParse(readJson(meta.annotations?.[UNRESOLVED_ANNOTATION])).data;
}
