/** Volumes that a claim brings: whether the template lets it, and the list that comes of it. Pure. @module */
import type { VolumeClaimTemplate } from "../blueprint.ts";
import type { ClaimProblem } from "../claimproblem.ts";
import type { SandboxTemplateSpec } from "../sandboxtemplate.ts";

/**
 * Tells why a claim may not bring these volumes; undefined: it may. Source: Agent Sandbox API, section 3.5.5.
 *
 * | policy | the claim's volumes | verdict |
 * |---|---|---|
 * | any | none | fine |
 * | Disallowed | any | rejected |
 * | others | one without a name, or two of one name, there or in the template | rejected |
 * | Allowed | one of a name that the template has | rejected |
 */
export function volumesProblem(
  own: readonly VolumeClaimTemplate[],
  policy: SandboxTemplateSpec["volumeClaimTemplatesPolicy"],
  template: readonly VolumeClaimTemplate[],
): ClaimProblem | undefined {
  if (own.length === 0) return undefined;
  if (policy === "Disallowed") return rejected("volumeClaimTemplates are not allowed by the template policy");
  const fault = nameFault(own, "claim") ?? nameFault(template, "template");
  if (fault) return rejected(fault);
  if (policy === "Overrides") return undefined;
  const names = new Set(template.map(nameOf));
  const taken = own.map(nameOf).find((name) => names.has(name));
  return taken === undefined
    ? undefined
    : rejected(`override of volumeClaimTemplate "${taken}" is not allowed by the template policy`);
}

/** Returns the template's volumes with the claim's: one of the same name in its place, new ones at the end. */
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

function rejected(message: string): ClaimProblem {
  return { reason: "VolumeClaimTemplatesError", message };
}
