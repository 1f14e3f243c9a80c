/**
 * Builds the PersistentVolumeClaims of a Sandbox: one for each volume claim template, whether the Sandbox runs or not.
 * @module
 */
import type { V1PersistentVolumeClaimSpec } from "@kubernetes/client-node";
import type { Sandbox, VolumeClaimTemplate } from "../../packages/api/sandbox.ts";
import { isEngineKey, NAME_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";

/**
 * Builds the PersistentVolumeClaims, named `<template>-<sandbox>`. If two templates have the same name, the first
 * counts. Source: Agent Sandbox API, section 2.6.
 */
export function buildPVCs(sandbox: Sandbox): DesiredObject<"PersistentVolumeClaim", V1PersistentVolumeClaimSpec>[] {
  return claimTemplates(sandbox).map((template) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: pvcName(template, sandbox),
      labels: { ...withoutEngineKeys(template.metadata?.labels), [NAME_HASH_LABEL]: nameHash(sandbox.metadata.name) },
      ...(template.metadata?.annotations ? { annotations: withoutEngineKeys(template.metadata.annotations) } : {}),
    },
    spec: template.spec,
  }));
}

function withoutEngineKeys(map: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isEngineKey(key)));
}

/** Lists the volume claim templates of a Sandbox. If two have the same name, only the first is in the list. */
export function claimTemplates(sandbox: Sandbox): VolumeClaimTemplate[] {
  const byName = new Map<string, VolumeClaimTemplate>();
  for (const template of sandbox.spec.volumeClaimTemplates ?? []) {
    if (!byName.has(volumeName(template))) byName.set(volumeName(template), template);
  }
  return [...byName.values()];
}

/**
 * Returns the name of a template, which is also the name of the Pod's volume; `""`: the template has no name, which the
 * schema allows.
 */
export function volumeName(template: VolumeClaimTemplate): string {
  return template.metadata?.name ?? "";
}

/**
 * Lists the names of the PersistentVolumeClaims that a Sandbox asks for and does not own yet. @param pvcs those that it
 * owns
 */
export function missingPVCs(sandbox: Sandbox, pvcs: readonly { metadata: { name: string } }[]): string[] {
  const ours = new Set(pvcs.map(({ metadata }) => metadata.name));
  return claimTemplates(sandbox).map((template) => pvcName(template, sandbox)).filter((name) => !ours.has(name));
}

/** Lists the names of the PersistentVolumeClaims that a Sandbox asks for and that are being deleted. */
export function endingPVCs(sandbox: Sandbox, pvcs: readonly KubeObject[]): string[] {
  const wanted = new Set(claimTemplates(sandbox).map((template) => pvcName(template, sandbox)));
  return pvcs.map(({ metadata }) => metadata)
    .filter(({ name, deletionTimestamp }) => deletionTimestamp !== undefined && wanted.has(name))
    .map(({ name }) => name);
}

/**
 * Tells whether the Pod has to wait for a volume. A PersistentVolumeClaim that is not observed as a child may belong to
 * another Sandbox, and the Pod would mount that Sandbox's volume. A PersistentVolumeClaim that is being deleted
 * disappears as soon as no Pod uses it, so a new Pod would wait for it, or lose it.
 */
export function awaitsVolumes(sandbox: Sandbox, pvcs: readonly KubeObject[]): boolean {
  return missingPVCs(sandbox, pvcs).length > 0 || endingPVCs(sandbox, pvcs).length > 0;
}

/** Returns the name of the PersistentVolumeClaim that a Sandbox gets from a template. */
export function pvcName(template: VolumeClaimTemplate, sandbox: Sandbox): string {
  return `${volumeName(template)}-${sandbox.metadata.name}`;
}
