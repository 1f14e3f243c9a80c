/**
 * Creates CustomResourceDefinitions before controllers start. Otherwise, controllers see them only after half a minute.
 * @module
 */
import { parseAllDocuments } from "yaml";
import { type ApiAccess, createObject, readObject } from "./api.ts";
import { waitUntil } from "./wait.ts";

const PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface Definition {
  kind?: string;
  metadata: { name: string };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Returns the CustomResourceDefinitions in YAML or JSON texts. Other documents are ignored. */
export function definitionsIn(texts: string[]): Definition[] {
  const documents = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Definition));
  return documents.filter((document) => document?.kind === "CustomResourceDefinition");
}

/** Creates the definitions in the texts and waits until the API server serves them. */
export async function createDefinitions(access: ApiAccess, texts: string[], signal?: AbortSignal): Promise<void> {
  const definitions = definitionsIn(texts);
  await Promise.all(definitions.map((definition) => createObject(access, PATH, definition)));
  const isServed = async ({ metadata }: Definition) => {
    const found = await readObject<Definition>(access, `${PATH}/${metadata.name}`);
    return (found?.status?.conditions ?? []).some(({ type, status }) => type === "Established" && status === "True");
  };
  const probe = async () => (await Promise.all(definitions.map(isServed))).every(Boolean);
  await waitUntil({ what: "serving CustomResourceDefinitions", probe, needs: [], timeoutSeconds: 30, signal });
}
