/** Answers the proxy's questions: may this sandbox reach this destination, at which address, and with which headers? @module */
import * as z from "zod";
import { checkAddress, decide, type HeaderRule } from "../api/egress/policy.ts";
import type { Sandboxes, SandboxId } from "./sandboxes.ts";

const identitySchema = z.object({ name: z.string(), uid: z.string() });

/** A question of the proxy, one line of JSON. */
export const questionSchema = z.object({
  /** Address of the sandbox. */
  client: z.string(),
  host: z.string(),
  port: z.int(),
  /** What an earlier answer for the same connection has given; absent: nothing yet. */
  sandbox: identitySchema.extend({ claim: identitySchema.optional() }).optional(),
  /** The question is about a request that arrived over TLS, so the answer has headers. */
  encrypted: z.boolean().default(false),
});
export type Question = z.infer<typeof questionSchema>;

/** The answer, one line of JSON. */
export type Answer = Granted | Refused;

interface Granted {
  allowed: true;
  sandbox: SandboxId;
  /** The destination's name or address in its usual form. */
  host: string;
  /** Where to connect. */
  address: string;
  port: number;
  /** The proxy must read the requests, because they get headers. False: it passes on what is encrypted. */
  inspect: boolean;
  /** Any protocol is allowed. */
  raw: boolean;
  /** Headers of an encrypted request, which replace those of the same name. */
  headers: [name: string, value: string][];
}

export interface Refused {
  allowed: false;
  /** HTTP status: 403 if the policy refuses, 502 if the destination does not exist, 503 if nobody knows. */
  status: number;
  /** For people. */
  reason: string;
  /** For metrics. */
  cause: RefusalCause;
  /** Absent: it was not found. */
  sandbox?: SandboxId | undefined;
}

/** Why requests are refused. */
export const REFUSAL_CAUSES = [
  // The cluster does not enforce NetworkPolicies.
  "not_enforced",
  // No sandbox has the address of the client.
  "no_sandbox",
  // The annotations are missing or invalid, or the Sandbox, its claim or its template is gone.
  "no_rules",
  // The rules do not allow the destination.
  "not_allowed",
  // The destination has no address, or no DNS server answers.
  "dns",
  // The destination has only addresses that are not public, and that are in no network of the rules.
  "private_address",
  // A Secret or its key is missing, cannot be read, or cannot be the value of a header.
  "secret",
  // The API server does not answer.
  "api_server",
  // The proxy itself refuses: because of the form of a request, TLS for another name, or too many connections.
  "proxy",
  // The egress policy has failed.
  "error",
] as const;
export type RefusalCause = typeof REFUSAL_CAUSES[number];

/** What the answers depend on. */
export interface World {
  sandboxes: Pick<Sandboxes, "at" | "policyOf">;
  /** Why nothing may be allowed now; undefined: no reason is known. */
  problem(): string | undefined;
  /** Resolves a name; empty: it does not exist. */
  resolve(host: string): Promise<string[]>;
  /** Returns the value of a Secret's key. @throws {Error} if there is none, or it cannot be read */
  secret(name: string, key: string): Promise<string>;
  /**
   * Checks that the API server has checked the author of a claim's headers.
   *
   * @param created when the claim was created (RFC 3339)
   * @throws {Error} if it has not, or this is not known
   */
  requireAuthor(created: string | undefined): Promise<void>;
}

/** Answers a question. Every failure refuses. */
export async function answer(world: World, question: Question): Promise<Answer> {
  let sandbox: SandboxId | undefined = question.sandbox;
  // What a failure means now.
  let failing: RefusalCause = "api_server";
  const refused = (status: number, cause: RefusalCause, reason: string): Refused => ({
    ...{ allowed: false, status, reason, cause },
    ...sandbox && { sandbox },
  });
  const problem = world.problem();
  if (problem !== undefined) return refused(503, "not_enforced", problem);
  try {
    const found = sandbox ?? await world.sandboxes.at(question.client);
    if (typeof found === "string") return refused(403, "no_sandbox", found);
    sandbox = found;
    const policy = await world.sandboxes.policyOf(sandbox);
    if (typeof policy === "string") return refused(403, "no_rules", policy);
    const verdict = decide(policy, question);
    if (typeof verdict === "string") return refused(403, "not_allowed", verdict);
    const { host, headers, isRaw } = verdict;
    failing = "dns";
    const addresses = await world.resolve(host);
    if (addresses.length === 0) return refused(502, "dns", `${host} has no address`);
    const problems = addresses.map((address) => checkAddress(policy, question, address));
    const address = addresses.find((_, index) => problems[index] === undefined);
    if (address === undefined) return refused(403, "private_address", `${host}: ${problems[0]}`);
    failing = "secret";
    if (headers.some(({ ofClaim }) => ofClaim)) await world.requireAuthor(policy.claimCreated);
    const given = question.encrypted ? await Promise.all(headers.map((rule) => headerFor(world, rule))) : [];
    return {
      allowed: true,
      sandbox,
      host,
      address,
      port: question.port,
      inspect: headers.length > 0,
      raw: isRaw,
      headers: given,
    };
  } catch (error) {
    return refused(503, failing, error instanceof Error ? error.message : String(error));
  }
}

async function headerFor({ secret }: World, rule: HeaderRule): Promise<[string, string]> {
  const value = (await secret(rule.secret, rule.key)).replace(/\r?\n$/, "");
  if (!/^[\x20-\x7e]+$/.test(value)) {
    throw new Error(
      `Cannot use key ${rule.key} of Secret ${rule.secret} as a header: it contains characters that are not printable ASCII`,
    );
  }
  return [rule.header, rule.scheme === undefined ? value : `${rule.scheme} ${value}`];
}
