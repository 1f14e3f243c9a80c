/**
 * The annotation in which the keeper reports why a child of an object cannot be created, changed or deleted. A hook does not
 * see what the API server answers. Only the keeper writes and removes the annotation; hooks read it. @module
 */
import * as z from "zod";
import { readJson } from "./objects/json.ts";
import { UNRESOLVED_ANNOTATION } from "./objects/keys.ts";
import type { ObjectMeta } from "./objects/objects.ts";

/**
 * What keeps one child away.
 *
 * | state | meaning |
 * |---|---|
 * | `taken` | an object of its name exists that is not this parent's and may not be taken over |
 * | `invalid` | the API server refuses it for what it says; only another spec helps (`generation` tells which one) |
 * | `refused` | the API server refuses it for now: quota, admission, permissions |
 * | `stuck` | it exists, and the API server refuses to change or delete it |
 * | `missing` | the API server would accept it, but no hook creates it; only for a NetworkPolicy |
 */
const problemSchema = z.object({
  /** The first three are children of a Sandbox, then those of a template and of a pool. */
  kind: z.enum(["PersistentVolumeClaim", "Pod", "Service", "NetworkPolicy", "Sandbox"]),
  name: z.string(),
  state: z.enum(["taken", "invalid", "refused", "stuck", "missing"]),
  /** For people, as the contract words it; becomes part of the Ready condition. */
  message: z.string(),
});
export type Problem = z.infer<typeof problemSchema>;

const unresolvedSchema = z.object({
  /** `metadata.generation` of the parent that was looked at. */
  generation: z.number(),
  /** In the order PersistentVolumeClaims, Pod, Service. */
  problems: z.array(problemSchema),
});
export type Unresolved = z.infer<typeof unresolvedSchema>;

/** Reads the annotation of a parent; undefined if there is none or if it is not the keeper's hand. */
export function readUnresolved(meta: ObjectMeta): Unresolved | undefined {
  return unresolvedSchema.safeParse(readJson(meta.annotations?.[UNRESOLVED_ANNOTATION])).data;
}
