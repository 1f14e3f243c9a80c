/**
 * Checks what a claim asks for against what its template allows. Binder, keeper and `hookbox why` use the same check.
 * @module
 */
import type { V1Container, V1PodSpec, V1Volume } from "@kubernetes/client-node";
import type { VolumeClaimTemplate } from "../blueprint.ts";
import type { ClaimEnvironmentVariable, SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate, SandboxTemplateSpec } from "../sandboxtemplate.ts";
import { allowsLateBinding, canBindLate, lateContents, needsDelivery } from "./latebinding.ts";
import { claimAmounts, resourcesProblem, resourcesText, restartsFor } from "./resources.ts";
import { RUNTIME_KEY_SECRET } from "../router/scopedtoken.ts";
import { metadataConflict, metadataProblem } from "./podmetadata.ts";
import type { ClaimProblem } from "./problem.ts";

/**
 * Returns why a claim cannot be served, whatever the pool has; undefined: it can be served. It is the first problem of:
 * invalid metadata, metadata that conflicts with the template's, environment variables, volumes, resources.
 *
 * @param domains domains of label keys that claims may use; undefined: not known, so only conflicts with the template's
 * metadata are checked
 * @param allowedAnnotationDomains domains of annotation keys that claims may use; undefined: all that are not reserved
 */
export function requestProblem(
  claim: SandboxClaim,
  template: SandboxTemplate,
  domains: readonly string[] | undefined,
  allowedAnnotationDomains?: readonly string[],
): ClaimProblem | undefined {
  const { spec } = claim;
  const { podTemplate, volumeClaimTemplates = [], volumeClaimTemplatesPolicy } = template.spec;
  return (domains && metadataProblem(spec.additionalPodMetadata, domains, allowedAnnotationDomains)) ??
    metadataConflict(podTemplate.metadata ?? {}, spec.additionalPodMetadata) ??
    contentsProblem(claim, template) ??
    volumesProblem(spec.volumeClaimTemplates ?? [], volumeClaimTemplatesPolicy, volumeClaimTemplates) ??
    resourcesProblem(claim, template);
}

/** Returns why a claim may not set its variables, files or start command; undefined: it may. */
export function contentsProblem(claim: SandboxClaim, template: SandboxTemplate): ClaimProblem | undefined {
  const { envVarsInjectionPolicy, podTemplate } = template.spec;
  const late = lateContents(claim);
  if (typeof late === "string") return environmentRejected(late);
  const { env, files, start } = late;
  const isMore = files.length > 0 || start !== undefined;
  // Values of Secrets reach a sandbox only while it runs: they must be in no spec.
  if ((env.length > 0 || isMore) && !allowsLateBinding(template)) {
    return environmentRejected(
      "variables and files from Secrets, and a start command, need a template that allows late binding",
    );
  }
  // A claim that may set variables can run commands already, for example by BASH_ENV.
  if (isMore && envVarsInjectionPolicy === "Disallowed") {
    return environmentRejected("files and a start command are not allowed by the template policy");
  }
  const key = isMore ? keyProblem(targetsOf(podTemplate.spec).get(undefined)) : undefined;
  if (key) return key;
  // The same policy applies to all variables.
  const variables = [...claim.spec.env ?? [], ...env.map(({ name }) => ({ name, value: "" }))];
  return environmentProblem(variables, envVarsInjectionPolicy, podTemplate.spec);
}

/**
 * Tells whether no pool member can have what a claim asks for. The claim then needs a new Sandbox: a cold start.
 *
 * @param template undefined: not known
 */
export function needsColdStart(claim: SandboxClaim, template: SandboxTemplate | undefined): boolean {
  const { env = [], volumeClaimTemplates = [] } = claim.spec;
  return volumeClaimTemplates.length > 0 || (needsDelivery(claim) && !canBindLate(env, template)) ||
    (resourcesText(claim) !== undefined && !canResize(claim, template));
}

/** Without its template, nothing shows which resources a claim may have. */
function canResize(claim: SandboxClaim, template: SandboxTemplate | undefined): boolean {
  return template !== undefined && !resourcesProblem(claim, template) &&
    !restartsFor(template.spec.podTemplate.spec, claimAmounts(claim) ?? {});
}

type Policy = SandboxTemplateSpec["envVarsInjectionPolicy"];
type Variable = ClaimEnvironmentVariable;

/**
 * Returns why a claim may not set these variables; undefined: it may. Source: Agent Sandbox API, section 3.5.5.
 *
 * | policy | variable | verdict |
 * |---|---|---|
 * | Disallowed | any | EnvVarsInjectionRejected |
 * | others | its container is not in the template | ReconcilerError |
 * | others | its container has the key of the namespace's runtimes | EnvVarsInjectionRejected, hookbox's own rule |
 * | others | its value has a NUL byte: no process can have it | EnvVarsInjectionRejected, hookbox's own rule |
 * | Allowed | its container has `envFrom`, so that it might override a variable unnoticed | EnvVarsInjectionRejected |
 * | Allowed | the container already has it | ReconcilerError |
 * | Allowed | the claim sets it twice in one container | ReconcilerError, with hookbox's own message |
 */
export function environmentProblem(
  env: readonly Variable[],
  policy: Policy,
  podSpec: V1PodSpec,
): ClaimProblem | undefined {
  if (env.length === 0) return undefined;
  if (policy === "Disallowed") {
    return environmentRejected("environment variable injection is not allowed by the template policy");
  }
  const targets = targetsOf(podSpec);
  const added = new Map<Target, Set<string>>();
  for (const variable of env) {
    const problem = variableProblem(variable, policy, targets.get(variable.containerName || undefined), added);
    if (problem) return problem;
  }
  return undefined;
}

/** A container, and the names of the variables that the template sets in it. */
interface Target {
  container: V1Container;
  names: ReadonlySet<string>;
  /** Whether it mounts the key of the namespace's runtimes. */
  hasKey: boolean;
}

/**
 * Cache of the containers by Pod spec. All claims of a template use the same Pod spec, and to read a large one takes
 * long.
 */
const found = new WeakMap<V1PodSpec, ReadonlyMap<string | undefined, Target>>();

/** Returns the containers of a Pod spec by name. The key undefined is the first container. */
function targetsOf(podSpec: V1PodSpec): ReadonlyMap<string | undefined, Target> {
  const before = found.get(podSpec);
  if (before) return before;
  const targets = new Map<string | undefined, Target>();
  const keys = new Set((podSpec.volumes ?? []).filter(hasRuntimeKey).map(({ name }) => name));
  // If two containers have the same name, the first counts.
  for (const container of [...podSpec.containers, ...(podSpec.initContainers ?? [])].reverse()) {
    targets.set(container.name, {
      container,
      names: new Set((container.env ?? []).map(({ name }) => name)),
      hasKey: (container.volumeMounts ?? []).some(({ name }) => keys.has(name)),
    });
  }
  targets.set(undefined, targets.get(podSpec.containers[0]?.name) as Target);
  found.set(podSpec, targets);
  return targets;
}

function hasRuntimeKey({ secret, projected }: V1Volume): boolean {
  return secret?.secretName === RUNTIME_KEY_SECRET ||
    (projected?.sources ?? []).some((source) => source.secret?.name === RUNTIME_KEY_SECRET);
}

/**
 * Returns the Pod spec with the variables set. An existing variable with the same name is replaced; other variables are
 * appended.
 */
export function withEnvironment(podSpec: V1PodSpec, env: readonly Variable[]): V1PodSpec {
  if (env.length === 0) return podSpec;
  const byContainer = Map.groupBy(env, ({ containerName }) => containerName || podSpec.containers[0]?.name);
  const withOwn = (container: V1Container) => withVariables(container, byContainer.get(container.name) ?? []);
  return {
    ...podSpec,
    containers: podSpec.containers.map(withOwn),
    ...(podSpec.initContainers ? { initContainers: podSpec.initContainers.map(withOwn) } : {}),
  };
}

function variableProblem(
  { name, value, containerName }: Variable,
  policy: Policy,
  target: Target | undefined,
  added: Map<Target, Set<string>>,
) {
  if (!target) {
    return failed(`target container "${containerName}" not found in template for environment variable "${name}"`);
  }
  const key = keyProblem(target);
  if (key) return key;
  // Runtimes refuse it, and members of the pool would be discarded.
  if (value.includes("\0")) return environmentRejected(`the value of environment variable "${name}" has a NUL byte`);
  const { container, names } = target;
  if (policy === "Overrides") return undefined;
  if ((container.envFrom ?? []).length > 0) {
    return environmentRejected(
      `container "${container.name}" uses envFrom, so it is unknown whether "${name}" would override a variable`,
    );
  }
  const own = added.get(target) ?? new Set<string>();
  if (names.has(name)) {
    return failed(`environment variable override is not allowed by the template policy for variable "${name}"`);
  }
  // The Go controller calls this an override, too, although the template does not set the variable.
  if (own.has(name)) {
    return failed(`spec.env of the claim lists variable "${name}" of container "${container.name}" twice`);
  }
  added.set(target, own.add(name));
  return undefined;
}

/** A variable such as NODE_OPTIONS would make the container pass on the key. */
function keyProblem(target: Target | undefined): ClaimProblem | undefined {
  if (!target?.hasKey) return undefined;
  return environmentRejected(
    `container "${target.container.name}" has the Secret ${RUNTIME_KEY_SECRET}, so no claim may set variables in it`,
  );
}

/** If a claim lists a variable twice, its last value counts, at the position of its first. */
function withVariables(container: V1Container, variables: readonly Variable[]): V1Container {
  if (variables.length === 0) return container;
  const wanted = new Map(variables.map(({ name, value }) => [name, { name, value }]));
  const before = container.env ?? [];
  const names = new Set(before.map(({ name }) => name));
  const added = [...wanted.values()].filter(({ name }) => !names.has(name));
  return { ...container, env: [...before.map((variable) => wanted.get(variable.name) ?? variable), ...added] };
}

function environmentRejected(message: string): ClaimProblem {
  return { reason: "EnvVarsInjectionRejected", message };
}

function failed(message: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `Error seen: ${message}` };
}

/**
 * Returns why a claim may not bring these volumes; undefined: it may. Source: Agent Sandbox API, section 3.5.5.
 *
 * | policy | the claim's volumes | verdict |
 * |---|---|---|
 * | any | none | allowed |
 * | Disallowed | any | rejected |
 * | others | one has no name, or two have the same name, in the claim or in the template | rejected |
 * | Allowed | one has the name of a volume of the template | rejected |
 */
export function volumesProblem(
  own: readonly VolumeClaimTemplate[],
  policy: SandboxTemplateSpec["volumeClaimTemplatesPolicy"],
  template: readonly VolumeClaimTemplate[],
): ClaimProblem | undefined {
  if (own.length === 0) return undefined;
  if (policy === "Disallowed") return volumesRejected("volumeClaimTemplates are not allowed by the template policy");
  const fault = nameFault(own, "claim") ?? nameFault(template, "template");
  if (fault) return volumesRejected(fault);
  if (policy === "Overrides") return undefined;
  const names = new Set(template.map(nameOf));
  const taken = own.map(nameOf).find((name) => names.has(name));
  return taken === undefined
    ? undefined
    : volumesRejected(`override of volumeClaimTemplate "${taken}" is not allowed by the template policy`);
}

/**
 * Returns the template's volumes with those of the claim. A claim's volume replaces the template's volume of the same
 * name. Other volumes are appended.
 */
export function joinedVolumes(
  template: readonly VolumeClaimTemplate[],
  own: readonly VolumeClaimTemplate[],
): VolumeClaimTemplate[] {
  const byName = new Map(own.map((volume) => [nameOf(volume), volume]));
  const names = new Set(template.map(nameOf));
  return [
    ...template.map((volume) => byName.get(nameOf(volume)) ?? volume),
    ...own.filter((volume) => !names.has(nameOf(volume))),
  ];
}

function nameFault(volumes: readonly VolumeClaimTemplate[], whose: string): string | undefined {
  const names = volumes.map(nameOf);
  if (names.includes("")) return `a volumeClaimTemplate of the ${whose} has no name`;
  const seen = new Set<string>();
  const twice = names.find((name) => seen.has(name) || !seen.add(name));
  return twice === undefined ? undefined : `two volumeClaimTemplates of the ${whose} are named "${twice}"`;
}

function nameOf({ metadata }: VolumeClaimTemplate): string {
  return metadata?.name ?? "";
}

function volumesRejected(message: string): ClaimProblem {
  return { reason: "VolumeClaimTemplatesError", message };
}
