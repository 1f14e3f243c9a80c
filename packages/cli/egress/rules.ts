/** Reads the rules of the egress proxy for a sandbox, and the Secrets that they name, and finds their faults. @module */
import { cause, type Evidence, type Finding, isSame, named, type ObjectRef } from "../../api/diagnosis/finding.ts";
import type { Subject } from "../../api/diagnosis/facts.ts";
import { hasEgressRules } from "../../api/egress/podsettings.ts";
import type { RulesOwner, SecretKeys } from "../../api/egress/faults.ts";
import { TEMPLATE_REF_ANNOTATION } from "../../api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../../api/objects/objects.ts";
import { refOf } from "../../api/diagnosis/scene.ts";
import { podNameOf } from "../../api/objects/names.ts";
import { type Api, isOk, type ObjectPath, pathOf } from "../../kube/api.ts";
import { proxyCause, type ReadObject } from "./proxy.ts";

/** Returns the same finding, or what is wrong with the proxy or its rules if nothing else is wrong. */
export async function withRules(api: Api, subject: Subject, finding: Finding, signal?: AbortSignal): Promise<Finding> {
  if (!finding.isOk || subject.kind === "SandboxWarmPool") return finding;
  const read: ReadObject = async (path) => {
    const answer = await api.send({ method: "GET", path, signal });
    return isOk(answer) ? answer.body as KubeObject : answer.status === 404 ? null : undefined;
  };
  const { source, claim, sandbox } = await readOwners(read, subject);
  if (!source) return finding;
  const faults = await faultsOf(api, source, claim, signal);
  const [first] = faults;
  const ref: ObjectRef = { kind: subject.kind, namespace: subject.namespace, name: subject.name };
  const found = first
    ? cause("EgressRulesInvalid", {
      object: first.object,
      summary: `${named(subject)} is Ready, but the egress proxy refuses requests: ${first.text}.`,
      evidence: faults,
    })
    : hasEgressRules(source.metadata)
    ? await proxyCause(read, subject.namespace, ref, sandbox && await read(podPath(sandbox)))
    : undefined;
  if (!found) return finding;
  const { path, isGuess: _, ...rest } = found;
  return { ...rest, isOk: false, chain: [ref, ...path].filter((one, at) => at === 0 || !isSame(one, subject)) };
}

function podPath(sandbox: KubeObject): string {
  return pathOf({ resource: "pods", namespace: sandbox.metadata.namespace, name: podNameOf(sandbox) });
}

/** The objects that decide about a subject. */
interface Owners {
  /** The template, or a Sandbox without one; undefined: there is none, or it could not be read. */
  source?: KubeObject | undefined;
  claim?: KubeObject | undefined;
  sandbox?: KubeObject | undefined;
}

async function readOwners(read: ReadObject, { kind, namespace, name }: Subject): Promise<Owners> {
  const found = async (
    kind: string,
    resource: ObjectPath["resource"],
    name: string | undefined,
  ): Promise<KubeObject | undefined> => {
    const object = name === undefined ? undefined : await read(pathOf({ resource, namespace, name }));
    return object ? { ...object, kind } : undefined;
  };
  const claimNamed = (name: string | undefined) => found("SandboxClaim", "sandboxclaims", name);
  if (kind === "SandboxTemplate") return { source: await found(kind, "sandboxtemplates", name) };
  const own = kind === "SandboxClaim" ? await claimNamed(name) : undefined;
  const sandboxName = kind === "Sandbox" ? name : sandboxOf(own);
  const sandbox = await found("Sandbox", "sandboxes", sandboxName);
  if (!sandbox) return {};
  const owner = controllerOf(sandbox.metadata);
  const claim = own ?? await claimNamed(owner?.kind === "SandboxClaim" ? owner.name : undefined);
  const template = sandbox.metadata.annotations?.[TEMPLATE_REF_ANNOTATION];
  const source = template === undefined ? sandbox : await found("SandboxTemplate", "sandboxtemplates", template);
  return { source, claim, sandbox };
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
  const { faultsOfRules, secretsOf } = await import("../../api/egress/faults.ts");
  const owner = ownerOf(source);
  const narrowing = claim && ownerOf(claim);
  if (!hasEgressRules(owner) && !(narrowing && hasEgressRules(narrowing))) return [];
  const { namespace = "" } = source.metadata;
  const names = [...new Set([...secretsOf(owner), ...narrowing ? secretsOf(narrowing) : []])];
  const keys = await Promise.all(names.map((name) => keysOf(api, namespace, name, signal)));
  return faultsOfRules(owner, narrowing, (secret) => keys[names.indexOf(secret)]);
}

function ownerOf({ kind, metadata }: KubeObject): RulesOwner {
  return { ref: refOf(kind, metadata), annotations: metadata.annotations };
}

async function keysOf(api: Api, namespace: string, name: string, signal?: AbortSignal): Promise<SecretKeys> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "secrets", namespace, name }), signal });
  if (answer.status === 404) return null;
  return isOk(answer) ? Object.keys((answer.body as { data?: object }).data ?? {}) : undefined;
}
