/**
 * Reads the Secrets that a claim names, if the API server has checked that the claim's author may read them: the binder
 * cannot find out who the author is. @module
 */
import { Buffer } from "node:buffer";
import { secretVariables } from "../api/claims/latebinding.ts";
import { SECRET_ENV_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Api, isOk, messageOf, pathOf } from "../kube/api.ts";

/** Name of the admission policy that checks the author, and of its binding. */
const POLICY = "hookbox-claim-secrets";
const POLICIES = [
  `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${POLICY}`,
  `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/${POLICY}`,
];
/** How long the API servers may need until a new policy is in force, in milliseconds. */
const IN_FORCE_MS = 10_000;

/**
 * Returns the values by name of the variable; empty if the claim names no Secret.
 *
 * @throws {Error} without values, if the author was not checked, or a value cannot be read
 */
export async function secretValues(api: Api, claim: SandboxClaim): Promise<Record<string, string>> {
  const variables = secretVariables(claim);
  if (typeof variables === "string") throw new Error(variables);
  if (variables.length === 0) return {};
  const { namespace = "" } = claim.metadata;
  const names = [...new Set(variables.map(({ secret }) => secret))];
  const read = async (name: string) => [name, await readSecret(api, namespace, name)] as const;
  // At the same time, because the client waits for the claim. Without the check, it learns nothing about the Secrets.
  const reading = Promise.all(names.map(read));
  reading.catch(() => {});
  await Promise.all(POLICIES.map((path) => checkPolicy(api, claim, path)));
  const secrets = new Map(await reading);
  return Object.fromEntries(variables.map(({ name, secret, key }) => {
    const encoded = secrets.get(secret)?.[key];
    if (encoded === undefined) throw new Error(`Secret ${secret} has no key ${key}`);
    const value = Buffer.from(encoded, "base64").toString();
    if (value.includes("\0") || value.includes("\uFFFD")) throw new Error(`key ${key} of Secret ${secret} is not text`);
    return [name, value];
  }));
}

/**
 * Checks that the policy, or its binding, was in force when the claim was created. The policy also checks each later
 * change of the annotation.
 */
async function checkPolicy(api: Api, { metadata }: SandboxClaim, path: string): Promise<void> {
  const answer = await api.send({ method: "GET", path });
  if (answer.status === 404) {
    throw new Error(`the admission policy ${POLICY} is missing, so nobody has checked who may read the Secrets`);
  }
  if (!isOk(answer)) throw new Error(`the admission policy ${POLICY} cannot be read: ${messageOf(answer)}`);
  const { metadata: own, spec } = answer.body as { metadata: ObjectMeta; spec?: { validationActions?: string[] } };
  if (path.includes("policybindings/") && spec?.validationActions?.includes("Deny") !== true) {
    throw new Error(`the admission policy ${POLICY} refuses nothing: validationActions of its binding lacks Deny`);
  }
  const { creationTimestamp = "" } = own;
  if (!(Date.parse(metadata.creationTimestamp ?? "") > Date.parse(creationTimestamp) + IN_FORCE_MS)) {
    throw new Error(
      `the claim is older than the admission policy ${POLICY}, which checks ${SECRET_ENV_ANNOTATION}: create it again`,
    );
  }
}

async function readSecret(api: Api, namespace: string, name: string): Promise<Record<string, string>> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "secrets", namespace, name }) });
  if (answer.status === 404) throw new Error(`Secret ${name} does not exist`);
  if (!isOk(answer)) {
    throw new Error(`the binder cannot read Secret ${name}: ${messageOf(answer)}. See docs/howto/secrets.md`);
  }
  return (answer.body as { data?: Record<string, string> }).data ?? {};
}
