/** Schemas of fields that several kinds share, with their descriptions in the CRD. @module */
import * as z from "zod";
import { LONGEST_MESSAGE, LONGEST_REASON, REASON_PATTERN } from "./objects/conditions.ts";
import { conditionSchema, conditionStatusSchema } from "./objects/schemas.ts";

/**
 * Describes an object whose type has only the named fields. The parser keeps unknown fields: a newer CRD may have more
 * of them, and a hook that copies a blueprint must not lose them.
 */
export function openObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape, z.core.$strip>;
}

/**
 * A time as the API server stores it: RFC 3339 with any offset, and optionally with fractions of a second.
 *
 * The parser accepts every string, because the API server's own check accepts some that `Date` cannot read.
 */
export const dateTimeSchema = z.string().meta({ format: "date-time" });

/** An integer from 0 to the largest int32. */
export const countSchema = z.int32().min(0).meta({ format: "int32" });

/** A `metadata.generation`. An `observedGeneration` is absent until a controller has observed the object. */
export const generationSchema = z.int().min(0).meta({ format: "int64" });

/**
 * Describes a field that contains the name of another object.
 *
 * Only the CRD limits its length. The parser accepts longer names, because hookbox must report names that an older CRD
 * has accepted.
 */
export function referenceName(description: string): z.ZodString {
  return z.string().meta({ description, maxLength: 253 });
}

/** A map of strings, such as labels. */
export const stringMapSchema = z.record(z.string(), z.string());

const TYPE_PATTERN =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;

const declaredConditionSchema = conditionSchema.extend({
  type: z.string().max(316).regex(TYPE_PATTERN).describe("What the condition is about, in CamelCase."),
  status: conditionStatusSchema.describe("Whether it holds: True, False or Unknown."),
  reason: z.string().min(1).max(LONGEST_REASON).regex(REASON_PATTERN).describe(
    "Why, in one CamelCase word for programs.",
  ),
  // `.max()` is not used, because it counts UTF-16 code units, while the API server counts characters.
  message: z.string().meta({ description: "Why, for people. May be empty.", maxLength: LONGEST_MESSAGE }),
  lastTransitionTime: dateTimeSchema.meta({
    description: "When the status last changed; a new reason or message alone leaves it.",
    format: "date-time",
  }),
  observedGeneration: generationSchema.optional().meta({
    description: "The metadata.generation that the condition was computed from.",
  }),
}).describe("One aspect of the state, with when and why it last changed.");

/**
 * Schema of `status.conditions` for every kind. It is a plain list without a key, so a writer replaces the whole list.
 *
 * @param types the condition types of the kind, for the description
 */
export function conditionsSchema(types: string) {
  return z.array(declaredConditionSchema).describe(`The state of the object: ${types}.`);
}
