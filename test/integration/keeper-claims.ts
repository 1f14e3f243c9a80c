/** Verbs to play the hooks' part for claims, pools and templates before a keeper, and to read what it tells. @module */
import { cluster, container, namespace, send } from "./keeper-world.ts";
import { run, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

const API_VERSION = "extensions.agents.x-k8s.io/v1beta1";
const PREFIX = "agents.x-k8s.io";
const podTemplate = { spec: { containers: [container()] } };

/** Makes the claim `c`, or another, on the pool `p`. */
export async function makeClaim(name = "c", spec: object = {}, metadata: object = {}): Promise<Loose> {
  const body = { apiVersion: API_VERSION, kind: "SandboxClaim", metadata: { name, ...metadata } };
  return await send("POST", "sandboxclaims", undefined, { ...body, spec: { warmPoolRef: { name: "p" }, ...spec } });
}

/** Makes a Sandbox that belongs to the claim, Ready, bound just now. */
export async function giveSandbox(claim: Loose, name: string, launchType: "warm" | "cold" = "warm"): Promise<Loose> {
  const owner = { apiVersion: API_VERSION, kind: "SandboxClaim", controller: true };
  const { metadata } = await send("POST", "sandboxes", undefined, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name,
      labels: { [`${PREFIX}/launch-type`]: launchType },
      annotations: { [`${PREFIX}/assigned-at`]: now(), [`${PREFIX}/sandbox-template-ref`]: "t" },
      ownerReferences: [{ ...owner, name: claim.metadata.name, uid: claim.metadata.uid }],
    },
    spec: { podTemplate },
  });
  await publishOf("sandboxes", name, { conditions: [condition("Ready", "True", "DependenciesReady")] });
  return metadata;
}

/** Says on the claim that it has this Sandbox and is Ready, then annotates it, as the claim's hook does. */
export async function bind(claim: Loose, sandbox: string): Promise<void> {
  const { name } = claim.metadata;
  const conditions = [condition("Ready", "True", "DependenciesReady")];
  await publishOf("sandboxclaims", name, { sandbox: { name: sandbox }, conditions });
  const annotations = { [`${PREFIX}/sandbox-name`]: sandbox, [`${PREFIX}/claim-first-ready-at`]: now() };
  await send("PATCH", "sandboxclaims", name, { metadata: { annotations } });
}

/** Replaces fields of a status. */
export async function publishOf(resource: string, name: string, status: object): Promise<Loose> {
  return await send("PATCH", `${resource}/status`, name, { status });
}

/** Makes the pool `p`. */
export async function makePool(): Promise<void> {
  const body = { apiVersion: API_VERSION, kind: "SandboxWarmPool", metadata: { name: "p" } };
  await send("POST", "sandboxwarmpools", undefined, { ...body, spec: { sandboxTemplateRef: { name: "t" } } });
}

/** Makes the template `t`. */
export async function makeTemplate(): Promise<void> {
  const body = { apiVersion: API_VERSION, kind: "SandboxTemplate", metadata: { name: "t" } };
  await send("POST", "sandboxtemplates", undefined, { ...body, spec: { podTemplate } });
}

/** Makes a condition; it turned so just now, or as many seconds ago. */
export function condition(type: string, status: string, reason: string, message = "", secondsAgo = 0): Loose {
  const lastTransitionTime = new Date(Date.now() - secondsAgo * 1000).toISOString();
  return { type, status, reason, message, lastTransitionTime };
}

/** Reads the Events of the test's namespace that keepers have made, oldest first. */
export async function events(): Promise<Loose[]> {
  const text = await run(cluster, ["-n", namespace, "get", "events.events.k8s.io", "-o", "json"]);
  // The lives of Sandboxes are another file's: events.test.ts.
  const isOurs = ({ regarding: { apiVersion, kind }, reason }: Loose) =>
    apiVersion?.includes(PREFIX) && !(kind === "Sandbox" && reason !== "MultiplePods");
  const ours = (JSON.parse(text).items as Loose[]).filter(isOurs);
  return ours.sort((a, b) => a.eventTime < b.eventTime ? -1 : 1);
}

/** Reads them as `Type Reason kind/name: note`. */
export async function told(): Promise<string[]> {
  return (await events()).map(({ type, reason, regarding, note }) =>
    `${type} ${reason} ${regarding.kind}/${regarding.name}: ${note}`
  );
}

/** Waits until there are so many, and reads them. */
export async function untilTold(count: number): Promise<string[]> {
  return await until(told, (lines) => lines.length >= count);
}

const now = () => new Date().toISOString();
