/** Reads the rules of the egress proxy for a sandbox, and the Secrets that they name, and finds their faults. @module */
import { cause, type Evidence, type Finding, isSame, named } from "../../api/diagnosis/finding.ts";
import type { Subject } from "../../api/diagnosis/facts.ts";
import type { RulesOwner, SecretKeys } from "../../api/egress/faults.ts";
import { TEMPLATE_REF_ANNOTATION } from "../../api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../../api/objects/objects.ts";
import { refOf } from "../../api/diagnosis/scene.ts";
import { type Api, isOk, type ObjectPath, pathOf } from "../../kube/api.ts";

/** Returns the same finding, or what is wrong with the rules if nothing else is wrong. */
export async function withRules(api: Api, subject: Subject, finding: Finding, signal?: AbortSignal): Promise<Finding> {
  if (!finding.isOk || subject.kind === "SandboxWarmPool") return finding;
  const faults = await readFaults(api, subject, signal);
  const [first] = faults;
  if (!first) return finding;
  const { path, isGuess: _, ...found } = cause("EgressRulesInvalid", {
    object: first.object,
    summary: `${named(subject)} is Ready, but the egress proxy refuses requests: ${first.text}.`,
    evidence: faults,
  });
  const { kind, namespace, name } = subject;
  const chain = [{ kind, namespace, name }, ...path];
  return { ...found, isOk: false, chain: chain.filter((ref, at) => at === 0 || !isSame(ref, subject)) };
}

async function readFaults(api: Api, { kind, namespace, name }: Subject, signal?: AbortSignal): Promise<Evidence[]> {
  const one = (resource: ObjectPath["resource"], of: string) => readOne(api, resource, namespace, of, signal);
  const found = async (
    kind: string,
    resource: ObjectPath["resource"],
    name: string | undefined,
  ): Promise<KubeObject | undefined> => {
    const object = name === undefined ? undefined : await one(resource, name);
    return object ? { ...object, kind } : undefined;
  };
  const claimNamed = (name: string | undefined) => found("SandboxClaim", "sandboxclaims", name);
  if (kind === "SandboxTemplate") {
    const template = await found(kind, "sandboxtemplates", name);
    return template ? await faultsOf(api, template, undefined, signal) : [];
  }
  const own = kind === "SandboxClaim" ? await claimNamed(name) : undefined;
  const sandboxName = kind === "Sandbox" ? name : sandboxOf(own);
  const sandbox = await found("Sandbox", "sandboxes", sandboxName);
  if (!sandbox) return [];
  const owner = controllerOf(sandbox.metadata);
  const claim = own ?? await claimNamed(owner?.kind === "SandboxClaim" ? owner.name : undefined);
  const template = sandbox.metadata.annotations?.[TEMPLATE_REF_ANNOTATION];
  const source = template === undefined ? sandbox : await found("SandboxTemplate", "sandboxtemplates", template);
  return source ? await faultsOf(api, source, claim, signal) : [];
}

function sandboxOf(claim: KubeObject | undefined): string | undefined {
  return (claim?.["status"] as { sandbox?: { name?: string } } | undefined)?.sandbox?.name;
}

/**
 * Finds the faults of the annotations of a template, or of a Sandbox without one, and of the claim. Secrets that the
 * caller may not read count as complete.
 */
export async function faultsOf(
  api: Api,
  source: KubeObject,
  claim: KubeObject | undefined,
  signal?: AbortSignal,
): Promise<Evidence[]> {
  const { faultsOfRules, hasRules, secretsOf } = await import("../../api/egress/faults.ts");
  const owner = ownerOf(source);
  const narrowing = claim && ownerOf(claim);
  if (!hasRules(owner) && !(narrowing && hasRules(narrowing))) return [];
  const { namespace = "" } = source.metadata;
  const names = secretsOf(owner);
  const keys = await Promise.all(names.map((name) => keysOf(api, namespace, name, signal)));
  return faultsOfRules(owner, narrowing, (secret) => keys[names.indexOf(secret)]);
}

function ownerOf({ kind, metadata }: KubeObject): RulesOwner {
  return { ref: refOf(kind, metadata), annotations: metadata.annotations };
}

async function keysOf(api: Api, namespace: string, name: string, signal?: AbortSignal): Promise<SecretKeys> {
  const secret = await readOne(api, "secrets", namespace, name, signal);
  return secret && Object.keys(secret["data"] as object | undefined ?? {});
}

/** @returns `null`: it does not exist; undefined: it could not be read */
async function readOne(
  api: Api,
  resource: ObjectPath["resource"],
  namespace: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<KubeObject | null | undefined> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource, namespace, name }), signal });
  return isOk(answer) ? answer.body as KubeObject : answer.status === 404 ? null : undefined;
}
