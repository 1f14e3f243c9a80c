/** What an API server serves, as it has told the clients that were recorded. Pure. @module */
import type { Resource } from "../store.ts";
import type { Traffic } from "./traffic.ts";

/** Aggregated discovery: apidiscovery.k8s.io/v2. */
interface Discovery {
  items: {
    metadata: { name?: string };
    versions: {
      version: string;
      resources: {
        resource: string;
        responseKind: { kind: string };
        scope: string;
        subresources?: { subresource: string }[];
      }[];
    }[];
  }[];
}

/** Returns every resource that any answer named. */
export function servedIn(traffics: Traffic[]): Resource[] {
  const found = new Map<string, Resource>();
  for (const { path, answer } of traffics.flatMap(({ requests }) => requests)) {
    if (path !== "/api" && path !== "/apis" || answer?.["kind"] !== "APIGroupDiscoveryList") continue;
    for (const { metadata, versions } of (answer as unknown as Discovery).items) {
      for (const { version, resources } of versions) {
        const apiVersion = metadata.name ? `${metadata.name}/${version}` : version;
        for (const { resource: plural, responseKind: { kind }, scope, subresources = [] } of resources) {
          const hasStatus = subresources.some(({ subresource }) => subresource === "status");
          found.set(`${apiVersion}/${plural}`, {
            apiVersion,
            kind,
            plural,
            namespaced: scope === "Namespaced",
            hasStatus,
          });
        }
      }
    }
  }
  return [...found.values()];
}
