/**
 * Finds out whether the API server has checked that the author of a claim may read the Secrets that the claim names. The
 * processes that read them for the claim cannot find out who the author is. @module
 */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { type Api, isOk, messageOf } from "./api.ts";

/** How long the API servers may need until a new policy is in force, in milliseconds. */
const IN_FORCE_MS = 10_000;

/**
 * Returns since when an admission policy, and its binding of the same name, judge claims, in milliseconds since the
 * epoch.
 *
 * @throws {Error} if one of them is missing, cannot be read, or refuses nothing
 */
export async function checkedSince(api: Api, policy: string): Promise<number> {
  const since = await Promise.all(["policies", "policybindings"].map(async (plural) => {
    const path = `/apis/admissionregistration.k8s.io/v1/validatingadmission${plural}/${policy}`;
    const answer = await api.send({ method: "GET", path });
    if (answer.status === 404) {
      throw new Error(`the admission policy ${policy} is missing, so nobody has checked who may read the Secrets`);
    }
    if (!isOk(answer)) throw new Error(`the admission policy ${policy} cannot be read: ${messageOf(answer)}`);
    const { metadata, spec } = answer.body as { metadata: ObjectMeta; spec?: { validationActions?: string[] } };
    if (plural === "policybindings" && spec?.validationActions?.includes("Deny") !== true) {
      throw new Error(`the admission policy ${policy} refuses nothing: validationActions of its binding lacks Deny`);
    }
    return Date.parse(metadata.creationTimestamp ?? "") + IN_FORCE_MS;
  }));
  return Math.max(...since);
}

/**
 * Checks that a claim was created under the policy, which also judges each later change of the claim.
 *
 * @param since from {@link checkedSince}
 * @throws {Error} if the claim is older
 */
export function requireCheck(
  { creationTimestamp = "" }: Pick<ObjectMeta, "creationTimestamp">,
  since: number,
  policy: string,
): void {
  if (!(Date.parse(creationTimestamp) > since)) {
    throw new Error(
      `the claim is older than the admission policy ${policy}, which checks who may read its Secrets: create it again`,
    );
  }
}
