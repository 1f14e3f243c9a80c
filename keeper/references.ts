/** What the keeper remembers of pools and templates, to which claims, Sandboxes and pools refer by name. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { nameHash } from "../lib/names.ts";
import { createKnown, type Facts, type Known } from "./known.ts";

export interface PoolFacts extends Facts {
  hash: string;
  /** Name of its template. */
  template: string;
  isBeingDeleted: boolean;
}

export interface TemplateFacts extends Facts {
  /** Without what is bulky and says nothing of sandboxes: `managedFields`, annotations. */
  template: SandboxTemplate;
}

export interface References {
  pools: Known<SandboxWarmPool, PoolFacts>;
  templates: Known<SandboxTemplate, TemplateFacts>;
}

export function createReferences(): References {
  return { pools: createKnown(poolFacts), templates: createKnown(templateFacts) };
}

function poolFacts({ metadata, spec }: SandboxWarmPool): PoolFacts {
  const { uid = "", namespace = "", name } = metadata;
  const template = spec.sandboxTemplateRef.name;
  const isBeingDeleted = metadata.deletionTimestamp !== undefined;
  return {
    uid,
    namespace,
    name,
    version: `${template} ${isBeingDeleted}`,
    hash: nameHash(name),
    template,
    isBeingDeleted,
  };
}

function templateFacts({ metadata, ...template }: SandboxTemplate): TemplateFacts {
  const { uid = "", namespace = "", name, generation } = metadata;
  const kept = { ...template, metadata: { uid, namespace, name, ...(generation === undefined ? {} : { generation }) } };
  return { uid, namespace, name, version: String(generation), template: kept };
}
