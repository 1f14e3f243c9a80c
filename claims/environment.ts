/** Environment variables that a claim brings: whether the template lets it, and the Pod that comes of it. Pure. @module */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { ClaimProblem } from "../api/claimproblem.ts";
import type { ClaimEnvironmentVariable } from "../api/sandboxclaim.ts";
import type { SandboxTemplateSpec } from "../api/sandboxtemplate.ts";

type Policy = SandboxTemplateSpec["envVarsInjectionPolicy"];
type Variable = ClaimEnvironmentVariable;

/**
 * Tells why a claim may not set these variables; undefined: it may. Source: Agent Sandbox API, section 3.5.5.
 *
 * | policy | variable | verdict |
 * |---|---|---|
 * | Disallowed | any | EnvVarsInjectionRejected |
 * | others | of a container that the template lacks | ReconcilerError |
 * | Allowed | of a container with `envFrom`, which it might override unseen | EnvVarsInjectionRejected |
 * | Allowed | that the container has already | ReconcilerError |
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
  const faults = env.map((variable) => variableProblem(variable, policy, podSpec));
  return faults.find((fault) => fault !== undefined);
}

/** Returns the Pod spec with the variables set: an entry of the same name is replaced whole, others are appended. */
export function withEnvironment(podSpec: V1PodSpec, env: readonly Variable[]): V1PodSpec {
  if (env.length === 0) return podSpec;
  const first = podSpec.containers[0]?.name;
  const withOwn = (container: V1Container) =>
    env.filter(({ containerName = first }) => containerName === container.name).reduce(withVariable, container);
  return {
    ...podSpec,
    containers: podSpec.containers.map(withOwn),
    ...(podSpec.initContainers ? { initContainers: podSpec.initContainers.map(withOwn) } : {}),
  };
}

function variableProblem({ name, containerName }: Variable, policy: Policy, podSpec: V1PodSpec) {
  const all = [...podSpec.containers, ...(podSpec.initContainers ?? [])];
  const container = containerName === undefined ? podSpec.containers[0] : all.find((c) => c.name === containerName);
  if (!container) {
    return failed(`target container "${containerName}" not found in template for environment variable "${name}"`);
  }
  if (policy === "Overrides") return undefined;
  if ((container.envFrom ?? []).length > 0) {
    return rejected(
      `container "${container.name}" uses envFrom, so it is unknown whether "${name}" would override a variable`,
    );
  }
  const isTaken = (container.env ?? []).some((variable) => variable.name === name);
  return isTaken
    ? failed(`environment variable override is not allowed by the template policy for variable "${name}"`)
    : undefined;
}

function withVariable(container: V1Container, { name, value }: Variable): V1Container {
  const before = container.env ?? [];
  const isThere = before.some((variable) => variable.name === name);
  const env = isThere
    ? before.map((variable) => variable.name === name ? { name, value } : variable)
    : [...before, { name, value }];
  return { ...container, env };
}

function rejected(message: string): ClaimProblem {
  return { reason: "EnvVarsInjectionRejected", message };
}

function failed(message: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `Error seen: ${message}` };
}
