/** Checks what a new sandbox may reach, before its claim is created, with the rules of the egress proxy. @module */
import { EGRESS_ALLOW_ANNOTATION } from "../../api/objects/keys.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { type Api, pathOf } from "../../kube/api.ts";
import { InvalidArgumentError, TemplateError } from "../errors.ts";
import type { CreateOptions } from "../options.ts";
import { callAPI } from "./kube.ts";

const WHAT = "Cannot create a sandbox with `network`";

/** Returns the annotations of the claim for `network`. */
export function networkAnnotations({ network }: Pick<CreateOptions, "network">): Record<string, string> {
  return network === undefined ? {} : { [EGRESS_ALLOW_ANNOTATION]: network.allow.join(", ") };
}

/**
 * Checks the option alone, without a request.
 *
 * @throws {@link InvalidArgumentError} if an entry is invalid, or another option contradicts it
 */
export async function checkNetwork({ network, image, metadata = {} }: CreateOptions): Promise<void> {
  if (network === undefined) return;
  if (!Array.isArray(network.allow)) {
    throw new InvalidArgumentError(`${WHAT}: \`allow\` is not a list`, {
      remedy: 'Write network: { allow: ["pypi.org"] }.',
    });
  }
  if (image !== undefined) {
    const remedy = "Create a SandboxTemplate that lets sandboxes reach the egress proxy alone, and a pool of it.";
    throw new InvalidArgumentError(`${WHAT} from an image: nothing would restrict what it reaches`, { remedy });
  }
  if (metadata[EGRESS_ALLOW_ANNOTATION] !== undefined) {
    throw new InvalidArgumentError(`${WHAT}: \`metadata\` sets ${EGRESS_ALLOW_ANNOTATION}, too`);
  }
  const { readAllowed } = await import("../../api/egress/policy.ts");
  for (const entry of network.allow) {
    const read = typeof entry === "string" && entry.trim() !== "" && !entry.includes(",") ? readAllowed(entry) : entry;
    if (!Array.isArray(read)) {
      const problem = typeof read === "string" && read !== entry
        ? read
        : `${JSON.stringify(entry)} is not one host name, address or network`;
      throw new InvalidArgumentError(`${WHAT}: ${problem}`);
    }
  }
}

/**
 * Checks the option against the template of a pool. Without rules in the template, a claim restricts nothing.
 *
 * @throws {@link TemplateError} if the template has no rules, or they do not allow an entry
 */
export async function checkTemplateRules(
  api: Api,
  namespace: string,
  pool: string,
  { network, signal }: CreateOptions,
): Promise<void> {
  if (network === undefined) return;
  const { faultsOfRules } = await import("../../api/egress/faults.ts");
  const read = async <T>(kind: string, resource: "sandboxwarmpools" | "sandboxtemplates", name: string) =>
    await callAPI<T>(api, {
      method: "GET",
      path: pathOf({ resource, namespace, name }),
      action: "create a sandbox with `network`",
      object: { kind, namespace, name },
      signal,
    });
  const { spec } = await read<SandboxWarmPool>("SandboxWarmPool", "sandboxwarmpools", pool);
  const { name } = spec.sandboxTemplateRef;
  const { metadata } = await read<SandboxTemplate>("SandboxTemplate", "sandboxtemplates", name);
  const object = { kind: "SandboxTemplate", namespace, name };
  const claim = { ref: { kind: "SandboxClaim", name: "" }, annotations: networkAnnotations({ network }) };
  // To create claims, nobody needs to read Secrets.
  const [fault] = faultsOfRules({ ref: object, annotations: metadata.annotations }, claim, () => undefined);
  if (!fault) return;
  throw new TemplateError(`${WHAT}: ${fault.text}`, {
    reason: "EgressRulesInvalid",
    object,
    remedy: `A claim can only narrow what the annotation ${EGRESS_ALLOW_ANNOTATION} of its template allows.`,
  });
}
