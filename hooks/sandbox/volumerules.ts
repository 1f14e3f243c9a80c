/** What an answer may make of a Sandbox's volumes, for the guard, without the code that builds them. @module */
import type { Sandbox, VolumeClaimTemplate } from "../../packages/api/sandbox.ts";
import { CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { ChildRule } from "../../packages/webhook/childrules.ts";
import { differences } from "../../packages/webhook/fieldchanges.ts";

export const volumeRule: ChildRule<Sandbox> = {
  resource: "persistentvolumeclaims",
  updateStrategy: "OnDelete",
  mayChange: {},
  wrongWith(pvc, { parent }) {
    const wanted = volumeTemplates(parent).find(({ claimName }) => claimName === pvc.metadata.name);
    if (!wanted) return ["metadata.name"];
    const { metadata = {}, spec } = wanted.template;
    const { annotations } = metadata;
    return differences(pvc, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: wanted.claimName,
        labels: { ...withoutEngineKeys(metadata.labels), [NAME_HASH_LABEL]: nameHash(parent.metadata.name) },
        ...(annotations ? { annotations: withoutEngineKeys(annotations) } : {}),
      },
      spec,
    });
  },
};

/** A volume that a Sandbox asks for: its name in the Pod, and that of its claim. Of two with one name the first counts. */
export interface WantedVolume {
  volume: string;
  claimName: string;
  template: VolumeClaimTemplate;
}

/** Lists them. */
export function volumeTemplates({ metadata: { name }, spec }: Sandbox): WantedVolume[] {
  const found: WantedVolume[] = [];
  const seen = new Set<string>();
  for (const template of spec.volumeClaimTemplates ?? []) {
    const volume = template.metadata?.name ?? "";
    if (seen.has(volume)) continue;
    seen.add(volume);
    found.push({ volume, claimName: `${volume}-${name}`, template });
  }
  return found;
}

function withoutEngineKeys(map: Record<string, string> = {}): Record<string, string> {
  const isOurs = (key: string) => key !== CONTROLLER_UID_LABEL && !key.startsWith("metacontroller.k8s.io/");
  return Object.fromEntries(Object.entries(map).filter(([key]) => isOurs(key)));
}
