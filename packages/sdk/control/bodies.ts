/** Builds the objects that the SDK creates. @module */
import { CLIENT_REQUESTED_ANNOTATION, CREATED_BY_LABEL, TRACE_CONTEXT_ANNOTATION } from "../../api/objects/keys.ts";
import { IDLE_ANNOTATION } from "../../api/router/protocol.ts";
import type { ClaimEnvironmentVariable } from "../../api/sandboxclaim.ts";
import { InvalidArgumentError } from "../errors.ts";
import { type CreateOptions, envOf, type VolumeOptions } from "../options.ts";
import { amountsOf, checkAnnotations, optionAnnotations } from "./annotations.ts";
import { networkAnnotations } from "./network.ts";

/** Value of the label `created-by`, which the API specification defines. */
const CREATED_BY = "typescript-client";
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Time until a sandbox is deleted if its creator does not set one, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 3_600_000;

/**
 * Checks the options of a new sandbox.
 *
 * @param hasRouter whether the client has a router, which suspends idle sandboxes
 * @throws {@link InvalidArgumentError} if one is invalid, or two contradict each other
 */
export function checkOptions(options: CreateOptions, hasRouter: boolean): void {
  const sources = (["pool", "template", "image"] as const).filter((key) => options[key] !== undefined);
  if (sources.length !== 1) {
    const given = sources.length === 0 ? "none is" : `${sources.join(" and ")} are`;
    throw new InvalidArgumentError(
      `Cannot create a sandbox: exactly one of pool, template and image is needed, and ${given} given`,
    );
  }
  const { image, name, timeoutMs, idleMs, volumes = [] } = options;
  if (name !== undefined && !NAME.test(name)) {
    const remedy = "Use up to 63 lower-case letters, digits and dashes, beginning and ending with a letter or digit.";
    throw new InvalidArgumentError(`Cannot create a sandbox named "${name}": that is not a valid Kubernetes name`, {
      remedy,
    });
  }
  for (const [key, ms] of Object.entries({ timeoutMs, idleMs })) {
    if (ms !== undefined && ms !== null && !(ms > 0)) {
      throw new InvalidArgumentError(`Cannot create a sandbox: ${key} ${ms} is not above 0`);
    }
  }
  if (idleMs !== undefined && !isEndless(idleMs) && !hasRouter) {
    const remedy = "Give the client a `routerUrl`, or set HOOKBOX_ROUTER_URL, or leave out `idleMs`.";
    throw new InvalidArgumentError(
      "Cannot create a sandbox that is suspended when it is idle: the router suspends idle sandboxes, and no router is named",
      { remedy },
    );
  }
  // Throws if both `env` and `envs` are set.
  envOf(options);
  checkAnnotations(options);
  if (image !== undefined) return;
  const remedy = "Set this in the SandboxTemplate, or create the sandbox from an image.";
  if (options.ports) {
    throw new InvalidArgumentError("Cannot create a sandbox: ports can be set only with `image`", { remedy });
  }
  if (options.command) {
    throw new InvalidArgumentError("Cannot create a sandbox: the command can be set only with `image`", { remedy });
  }
  if (volumes.some(({ path }) => path !== undefined)) {
    throw new InvalidArgumentError("Cannot create a sandbox: mount paths of volumes can be set only with `image`", {
      remedy,
    });
  }
}

/** Values of one creation that are not options. */
export interface Creation {
  name: string;
  now: Date;
  /** When the lifetime begins: the time of the API server, as far as it is known. */
  begin: Date;
  /** Headers that pass on the current trace; empty if there is none. */
  trace: Record<string, string>;
}

/** Builds a claim on a pool. */
export function claimBody(options: CompleteOptions, pool: string, creation: Creation): object {
  const { volumes = [], timeoutMs, podLabels, podAnnotations } = options;
  const metadata = metadataOf(options, creation);
  const variables: ClaimEnvironmentVariable[] = Object.entries(envOf(options)).map(([name, value]) => ({
    name,
    value,
  }));
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        ...optionAnnotations(options),
        ...networkAnnotations(options),
      },
    },
    spec: {
      warmPoolRef: { name: pool },
      ...timeoutMs === undefined ? {} : { lifecycle: lifetime(timeoutMs, creation.begin) },
      ...podLabels || podAnnotations ? { additionalPodMetadata: podMetadata(options) } : {},
      ...variables.length > 0 ? { env: variables } : {},
      ...volumes.length > 0 ? { volumeClaimTemplates: volumes.map(volumeClaim) } : {},
    },
  };
}

/** Builds a Sandbox from an image. */
export function sandboxBody(options: CompleteOptions, creation: Creation): object {
  const { image, command, ports = [], volumes = [], timeoutMs, idleMs } = options;
  const metadata = metadataOf(options, creation);
  const idle = idleMs === undefined ? {} : { [IDLE_ANNOTATION]: secondsOf(idleMs) };
  const amounts = amountsOf(options);
  const container = {
    name: "main",
    image,
    ...command ? { command } : {},
    ...Object.keys(amounts).length > 0 ? { resources: { requests: amounts, limits: amounts } } : {},
    env: Object.entries(envOf(options)).map(([name, value]) => ({ name, value })),
    ports: ports.map((containerPort) => ({ containerPort })),
    volumeMounts: volumes.flatMap(({ name, path }) => path === undefined ? [] : [{ name, mountPath: path }]),
  };
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...idle } },
    spec: {
      ...timeoutMs === undefined ? {} : lifetime(timeoutMs, creation.begin),
      podTemplate: {
        metadata: podMetadata(options),
        // Agents run code that nobody has checked, so the container gets no token for the cluster.
        spec: { automountServiceAccountToken: false, enableServiceLinks: false, containers: [container] },
      },
      ...volumes.length > 0 ? { volumeClaimTemplates: volumes.map(volumeClaim) } : {},
    },
  };
}

/** Builds a pool of size 0: its sandboxes are created only when they are requested. */
export function coldPoolBody(name: string, template: string, now: Date): object {
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: {
      name,
      labels: { [CREATED_BY_LABEL]: CREATED_BY },
      annotations: { [CLIENT_REQUESTED_ANNOTATION]: now.toISOString() },
    },
    spec: { replicas: 0, sandboxTemplateRef: { name: template } },
  };
}

/** About 7,000 years. A longer time counts as endless, because RFC 3339 has no later dates. */
const FOR_EVER_MS = 2.2e14;

/** Options of a new sandbox with their defaults. No `timeoutMs`: it is never deleted. No `idleMs`: the template's. */
export type CompleteOptions = Omit<CreateOptions, "timeoutMs"> & { timeoutMs?: number };

/** Sets the default lifetime, and removes endless times. */
export function complete(options: CreateOptions): CompleteOptions {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, idleMs, ...rest } = options;
  return {
    ...rest,
    ...timeoutMs === null || isEndless(timeoutMs) ? {} : { timeoutMs },
    ...idleMs === undefined || isEndless(idleMs) ? {} : { idleMs },
  };
}

/** Returns whether a time in milliseconds counts as endless. */
export function isEndless(ms: number): boolean {
  return ms > FOR_EVER_MS;
}

/** Returns the spec fields that let an object be deleted after this many milliseconds. */
export function lifetime(ms: number, now: Date): { shutdownTime: string; shutdownPolicy: "Delete" } {
  return { shutdownTime: new Date(now.getTime() + ms).toISOString().replace(/\.\d+Z$/, "Z"), shutdownPolicy: "Delete" };
}

/** Formats a duration for the router's annotations: whole seconds, at least one. */
export function secondsOf(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

function metadataOf({ labels = {}, metadata = {} }: CompleteOptions, { name, now, trace }: Creation) {
  const traceContext = Object.keys(trace).length > 0 ? { [TRACE_CONTEXT_ANNOTATION]: JSON.stringify(trace) } : {};
  return {
    name,
    labels: { ...labels, [CREATED_BY_LABEL]: CREATED_BY },
    annotations: { ...traceContext, ...metadata, [CLIENT_REQUESTED_ANNOTATION]: now.toISOString() },
  };
}

function podMetadata({ podLabels = {}, podAnnotations = {} }: CompleteOptions) {
  return { labels: podLabels, annotations: podAnnotations };
}

function volumeClaim({ name, size, storageClass }: VolumeOptions) {
  return {
    metadata: { name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: size } },
      ...storageClass === undefined ? {} : { storageClassName: storageClass },
    },
  };
}
