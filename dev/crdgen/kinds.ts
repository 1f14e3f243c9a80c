/** Lists the kinds that get a CRD, each with its schema and the other data of the CRD. @module */
import type * as z from "zod";
import type { CustomResource } from "../../packages/api/crd.ts";
import { sandboxCRD, sandboxSchema } from "../../packages/api/sandbox.ts";
import { sandboxClaimCRD, sandboxClaimSchema } from "../../packages/api/sandboxclaim.ts";
import { sandboxTemplateCRD, sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolCRD, sandboxWarmPoolSchema } from "../../packages/api/sandboxwarmpool.ts";

export interface Kind {
  resource: CustomResource;
  schema: z.ZodType;
}

/** Every hookbox kind, in the order in which they build on each other. */
export const kinds: readonly Kind[] = [
  { resource: sandboxCRD, schema: sandboxSchema },
  { resource: sandboxTemplateCRD, schema: sandboxTemplateSchema },
  { resource: sandboxWarmPoolCRD, schema: sandboxWarmPoolSchema },
  { resource: sandboxClaimCRD, schema: sandboxClaimSchema },
];
