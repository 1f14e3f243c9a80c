/** Finds out by a dry run why the API server refuses the NetworkPolicy of a template. @module */
import { Buffer } from "node:buffer";
import { buildNetworkPolicy } from "../../hooks/sandboxtemplate/networkpolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Problem } from "../api/keeperreports.ts";
import { type Api, pathOf } from "../kube/api.ts";
import { applyCreate, applyUpdate, canonicalJson } from "../api/objects/apply.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER } from "../api/objects/keys.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { DRY_RUN, dryRunVerdict } from "./diagnose.ts";

/**
 * Maximum size of an object's annotations, in bytes. Metacontroller stores its copy of a child in one. Source:
 * apimachinery, ValidateAnnotations.
 */
const MOST_ANNOTATED = 256 * 1024;

/** Why the API server refuses the policy. */
type PolicyRefusal = Pick<Problem, "state" | "message">;

/**
 * Sends a dry run of the write of the policy, as Metacontroller would write it now. Returns why the API server would
 * refuse it; undefined if it would accept it, or if that is not known.
 *
 * @param found the policy to change; undefined: it would be created
 */
export async function policyRefusal(
  api: Api,
  template: SandboxTemplate,
  found: KubeObject | undefined,
): Promise<PolicyRefusal | undefined> {
  // The hook may deny further networks. That does not matter here, because the default rules are short.
  const wanted = buildNetworkPolicy(template, { deniedEgressCidrs: [] }, { observed: found });
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

/** Metacontroller stores a copy of a child in an annotation of the child. A long list of rules reaches that limit first. */
function sizeProblem(policy: object): PolicyRefusal | undefined {
  const bytes = Buffer.byteLength(canonicalJson(policy));
  if (bytes < MOST_ANNOTATED) return undefined;
  const message = `its rules are too large: ${bytes} bytes, but the annotation in which Metacontroller ` +
    `keeps them holds ${MOST_ANNOTATED}. Use fewer or larger networks, or create the policy yourself and set ` +
    "networkPolicyManagement to Unmanaged";
  return { state: "invalid", message };
}
