/** The owners that each object has ever had, by an API server's audit log and the versions of claims that a watch has shown. @module */
import type { History } from "../integration/history.ts";
import type { Loose } from "../integration/namespace.ts";

const BEGINNING = '{"kind":"Event",';

/**
 * Lists Sandboxes that were ever of two claims, claims that ever had two, and claims that showed one that was never
 * theirs, as text.
 *
 * @param writes lines of an audit log with the objects as they were answered; a line that its writer's death has cut
 * short counts for nothing
 */
export function sharedOf(writes: string[], { versions }: History): string[] {
  const claimsOf = new Map<string, Set<string>>();
  const sandboxesOf = new Map<string, Set<string>>();
  const shownBy = new Map<string, Set<string>>();
  const showing = (claim: Loose) => {
    const { name } = claim.status?.sandbox ?? {};
    if (name) add(shownBy, claim.metadata.uid, name);
  };
  for (const object of writes.flatMap(answered)) {
    if (object.kind === "SandboxClaim") showing(object);
    if (object.kind !== "Sandbox") continue;
    for (const { kind, uid } of object.metadata.ownerReferences ?? []) {
      if (kind !== "SandboxClaim") continue;
      add(claimsOf, `${object.metadata.name} (${object.metadata.uid})`, uid);
      add(sandboxesOf, uid, object.metadata.name);
    }
  }
  [...versions.values()].flat().forEach(showing);
  return [
    ...many(claimsOf).map(([sandbox, claims]) => `Sandbox ${sandbox} was of claims ${claims}`),
    ...many(sandboxesOf).map(([claim, sandboxes]) => `claim ${claim} had Sandboxes ${sandboxes}`),
    ...[...shownBy].flatMap(([claim, names]) =>
      [...names].filter((name) => !sandboxesOf.get(claim)?.has(name)).map((name) =>
        `claim ${claim} showed Sandbox ${name}, never its own`
      )
    ),
  ];
}

/** The object of a write that went well, of Sandboxes or claims. */
function answered(line: string): Loose[] {
  if (!line.endsWith("}")) return [];
  // The next API server writes on where the last one was cut off.
  const { responseStatus, responseObject } = JSON.parse(line.slice(Math.max(0, line.lastIndexOf(BEGINNING))));
  return responseStatus?.code < 300 && responseObject?.metadata ? [responseObject] : [];
}

function add(sets: Map<string, Set<string>>, key: string, value: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function many(sets: Map<string, Set<string>>): [string, string][] {
  return [...sets].filter(([, values]) => values.size > 1).map(([key, values]) => [key, [...values].join(", ")]);
}
