/** An API in memory with nothing running on it, and the verbs of tests of it. @module */
import { parseAllDocuments } from "yaml";
import { type Answer, pathOf } from "../../../packages/kube/api.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { MemoryApi, MemoryApiOptions } from "../../../packages/testing/api/memoryapi.ts";
import { createMemoryServer, type MemoryServer, type MemoryServerOptions } from "../../../packages/testing/server.ts";

/** Path of a Sandbox of namespace `ns`, or of all of them. */
export const sandboxes = (name?: string) => pathOf({ resource: "sandboxes", namespace: "ns", ...(name && { name }) });

/** A Sandbox that is good enough to be admitted. */
export const aSandbox = (name: string, more: object = {}): object => ({
  ...parseAllDocuments("spec: { podTemplate: { spec: { containers: [{ name: main, image: i }] } } }")[0]?.toJS(),
  metadata: { name, ...more },
});

/** Makes the server with its namespace `ns`. */
export async function serve(
  options: MemoryServerOptions & MemoryApiOptions = {},
): Promise<{ api: MemoryApi; server: MemoryServer }> {
  const server = await createMemoryServer({ namespaces: ["ns"], ...options });
  return { api: server.connect(options), server };
}

/** Creates a Sandbox. @throws {Error} if it is refused */
export async function create(api: MemoryApi, name: string, more: object = {}): Promise<KubeObject> {
  const answer = await api.send({ method: "POST", path: sandboxes(), body: aSandbox(name, more) });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer));
  return bodyOf(answer);
}

/** The body of an answer, as an object. */
// deno-lint-ignore no-explicit-any -- assertions say what is expected of the shape
export const bodyOf = (answer: Answer): any => answer.body;
