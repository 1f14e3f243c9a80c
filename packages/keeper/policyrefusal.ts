/** Finds out why the API server does not take the NetworkPolicy of a template, by a dry run. Changes nothing. @module */
import { Buffer } from "node:buffer";
import { buildNetworkPolicy } from "../../hooks/sandboxtemplate/networkpolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Problem } from "../api/unresolved.ts";
import { type Api, pathOf } from "../kube/api.ts";
import { applyCreate, applyUpdate, canonicalJson } from "../api/objects/apply.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER } from "../api/objects/keys.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { DRY_RUN, dryRunVerdict } from "./diagnose.ts";

/** Most bytes of an object's annotations, and what Metacontroller keeps its copy in. Source: apimachinery, ValidateAnnotations. */
const MOST_ANNOTATED = 256 * 1024;

/** Why the policy is not taken. */
type PolicyRefusal = Pick<Problem, "state" | "message">;

/**
 * Asks what would become of the policy if Metacontroller wrote it now; undefined: it would be taken, or nobody knows.
 *
 * @param found the policy that would be changed; undefined: one would be created
 */
export async function policyRefusal(
  api: Api,
  template: SandboxTemplate,
  found: KubeObject | undefined,
): Promise<PolicyRefusal | undefined> {
  // Whichever networks the hook closes besides: the default rules are short.
  const wanted = buildNetworkPolicy(template, { deniedCIDRs: [] }, { observed: found });
  const annotations = { ...wanted.metadata.annotations, [DECORATOR_ANNOTATION]: TEMPLATE_CONTROLLER };
  const policy = { ...wanted, metadata: { ...wanted.metadata, annotations } };
  const tooLarge = sizeProblem(policy);
  if (tooLarge) return tooLarge;
  const { namespace } = template.metadata;
  const { name } = wanted.metadata;
  const collection = { resource: "networkpolicies", namespace } as const;
  const write = found
    ? { method: "PUT", path: pathOf({ ...collection, name }), body: applyUpdate(found, policy) } as const
    : { method: "POST", path: pathOf(collection), body: applyCreate(policy) } as const;
  const answer = await api.send({ ...write, query: DRY_RUN });
  const verdict = dryRunVerdict({ kind: "NetworkPolicy", name }, answer);
  return typeof verdict === "string" ? undefined : verdict;
}

/** Metacontroller stores a child a second time, in an annotation of it: that is where a long list first becomes too long. */
function sizeProblem(policy: object): PolicyRefusal | undefined {
  const bytes = Buffer.byteLength(canonicalJson(policy));
  if (bytes < MOST_ANNOTATED) return undefined;
  const message = `its rules are too large: ${bytes} bytes, of ${MOST_ANNOTATED} that Metacontroller can keep in the ` +
    "annotation of what it applied last. Use fewer or larger networks, or make the policy yourself and set " +
    "networkPolicyManagement to Unmanaged";
  return { state: "invalid", message };
}
