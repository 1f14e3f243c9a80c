/** metav1.Condition as our CRDs declare it, on top of what hooks read. Which types exist is each kind's own. @module */
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
  // Not .max(): it counts UTF-16 units where the API server counts characters.
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
 * `status.conditions` of every kind: a plain list, not keyed by type, so a writer replaces it whole.
 *
 * @param types the condition types of the kind, for the description
 */
export function conditionsSchema(types: string) {
  return z.array(declaredConditionSchema).describe(`The state of the object: ${types}.`);
}
