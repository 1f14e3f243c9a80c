/** Checks whether the template allows the environment variables of a claim, and adds them to the Pod's spec. @module */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { ClaimProblem } from "../claimproblem.ts";
import type { ClaimEnvironmentVariable } from "../sandboxclaim.ts";
import type { SandboxTemplateSpec } from "../sandboxtemplate.ts";

type Policy = SandboxTemplateSpec["envVarsInjectionPolicy"];
type Variable = ClaimEnvironmentVariable;

/**
 * Returns why a claim may not set these variables; undefined: it may. Source: Agent Sandbox API, section 3.5.5.
 *
 * | policy | variable | verdict |
 * |---|---|---|
 * | Disallowed | any | EnvVarsInjectionRejected |
 * | others | its container is not in the template | ReconcilerError |
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
    return rejected("environment variable injection is not allowed by the template policy");
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
  // If two containers have the same name, the first counts.
  for (const container of [...podSpec.containers, ...(podSpec.initContainers ?? [])].reverse()) {
    targets.set(container.name, { container, names: new Set((container.env ?? []).map(({ name }) => name)) });
  }
  targets.set(undefined, targets.get(podSpec.containers[0]?.name) as Target);
  found.set(podSpec, targets);
  return targets;
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
  { name, containerName }: Variable,
  policy: Policy,
  target: Target | undefined,
  added: Map<Target, Set<string>>,
) {
  if (!target) {
    return failed(`target container "${containerName}" not found in template for environment variable "${name}"`);
  }
  if (policy === "Overrides") return undefined;
  const { container, names } = target;
  if ((container.envFrom ?? []).length > 0) {
    return rejected(
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

/** If a claim lists a variable twice, its last value counts, at the position of its first. */
function withVariables(container: V1Container, variables: readonly Variable[]): V1Container {
  if (variables.length === 0) return container;
  const wanted = new Map(variables.map(({ name, value }) => [name, { name, value }]));
  const before = container.env ?? [];
  const names = new Set(before.map(({ name }) => name));
  const added = [...wanted.values()].filter(({ name }) => !names.has(name));
  return { ...container, env: [...before.map((variable) => wanted.get(variable.name) ?? variable), ...added] };
}

function rejected(message: string): ClaimProblem {
  return { reason: "EnvVarsInjectionRejected", message };
}

function failed(message: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `Error seen: ${message}` };
}
