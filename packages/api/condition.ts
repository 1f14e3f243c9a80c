/**
 * The schema of metav1.Condition for the CRDs. It extends the schema that hooks read. Each kind defines its own
 * condition types. @module
 */
import * as z from "zod";
import { conditionSchema, conditionStatusSchema } from "./objects/conditions.ts";
import { dateTimeSchema, generationSchema } from "./fields.ts";
import { LONGEST_MESSAGE, LONGEST_REASON, REASON_PATTERN } from "./objects/fit.ts";

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
