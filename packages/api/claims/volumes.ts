/** Checks whether the template allows the volumes of a claim, and merges them with the template's. @module */
import type { VolumeClaimTemplate } from "../blueprint.ts";
import type { ClaimProblem } from "../claimproblem.ts";
import type { SandboxTemplateSpec } from "../sandboxtemplate.ts";

/**
 * Returns why a claim may not bring these volumes; undefined: it may. Source: Agent Sandbox API, section 3.5.5.
 *
 * | policy | the claim's volumes | verdict |
 * |---|---|---|
 * | any | none | allowed |
 * | Disallowed | any | rejected |
 * | others | one has no name, or two have the same name, in the claim or in the template | rejected |
 * | Allowed | one has the name of a volume of the template | rejected |
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

/**
 * Returns the template's volumes with those of the claim. A claim's volume replaces the template's volume of the same
 * name. Other volumes are appended.
 */
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
