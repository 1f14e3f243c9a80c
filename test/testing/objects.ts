/** Objects that tests of the cluster in memory put into it. @module */

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
const podTemplate = (image: string, podSpec: object = {}) => ({
  spec: { containers: [{ name: "main", image }], ...podSpec },
});

/** A Sandbox without pool or claim. */
export const sandbox = (name: string, spec: object = {}, podSpec: object = {}) => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: { podTemplate: podTemplate("busybox", podSpec), ...spec },
});

/** The template `shell` and the pool `shells` of it. */
export const pool = (replicas: number, image = "busybox") => [
  {
    apiVersion: EXTENSIONS,
    kind: "SandboxTemplate",
    metadata: { name: "shell" },
    spec: { podTemplate: podTemplate(image) },
  },
  {
    apiVersion: EXTENSIONS,
    kind: "SandboxWarmPool",
    metadata: { name: "shells" },
    spec: { replicas, sandboxTemplateRef: { name: "shell" } },
  },
];

/** A claim on that pool. */
export const claim = (name: string, spec: object = {}) => ({
  apiVersion: EXTENSIONS,
  kind: "SandboxClaim",
  metadata: { name },
  spec: { warmPoolRef: { name: "shells" }, ...spec },
});

/** `<status> <reason>` of a condition; undefined if there is none. */
// deno-lint-ignore no-explicit-any -- objects as tests look at them
export function conditionOf(object: any, type: string): string | undefined {
  const found = object?.status?.conditions?.find((one: { type: string }) => one.type === type);
  return found && `${found.status} ${found.reason}`;
}
