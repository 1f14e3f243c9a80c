/** Finds the pool or template that an E2B client means, from what watches have shown. @module */
import { ALIASES_ANNOTATION } from "../api/e2b/objects.ts";
import { quantity } from "../api/objects/quantity.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { type Api, pathOf } from "../kube/api.ts";
import { createStore } from "../kube/store.ts";
import { listAndWatch, type WatchOptions } from "../kube/watch.ts";

/** A template as E2B's clients see it. */
export interface Template {
  /** Name of the pool; of the SandboxTemplate if it has no pool. */
  id: string;
  kind: "pool" | "template";
  /** The names by which it is found, without tags. */
  aliases: string[];
  createdAt: string;
  cpuCount: number;
  memoryMB: number;
  diskSizeMB: number;
  /** Whether files survive a pause: a volume has them. */
  keepsFiles: boolean;
  /** Of the SandboxTemplate. */
  annotations: Record<string, string>;
}

export interface Templates {
  hasSynced(): boolean;
  /**
   * Finds a template.
   *
   * @param name `alias`, `alias:tag` or `project/alias`, with or without a tag. Without a tag, `default` is meant
   * @returns undefined if the project has none of that name
   */
  find(namespace: string, name: string): Template | undefined;
  /** Returns the template with this ID; undefined: it is gone. */
  get(namespace: string, id: string): Template | undefined;
  /** The templates of a project, sorted by ID. */
  list(namespace: string): Template[];
  /** Watches until `signal` fires. */
  watch(options: WatchOptions): Promise<void>;
}

const NAME = /^(?:([^/:]+)\/)?([^/:]+)(?::([^/:]+))?$/;
const DEFAULT_TAG = "default";

export function createTemplates(api: Api): Templates {
  const pools = createStore({ keep: (pool: SandboxWarmPool) => pool });
  const templates = createStore({ keep: (template: SandboxTemplate) => template });

  function list(namespace: string): (Template & { names: string[]; ready: number })[] {
    const ofPools = [...pools.values()].filter(({ metadata }) => metadata.namespace === namespace).flatMap((pool) => {
      const template = templates.get(namespace, pool.spec.sandboxTemplateRef.name);
      return template ? [{ ...seen("pool", pool, template), ready: pool.status?.readyReplicas ?? 0 }] : [];
    });
    const ofTemplates = [...templates.values()].filter(({ metadata }) => metadata.namespace === namespace).map(
      (template) => ({ ...seen("template", template, template), ready: -1 }),
    );
    return [...ofPools, ...ofTemplates];
  }

  return {
    hasSynced: () => pools.hasSynced() && templates.hasSynced(),
    find(namespace, name) {
      const [, project = namespace, alias = "", tag = DEFAULT_TAG] = NAME.exec(name) ?? [];
      if (project !== namespace) return undefined;
      const isNamed = ({ names }: { names: string[] }) => names.includes(`${alias}:${tag}`);
      // A pool has started sandboxes: the one with most of them is taken. A template alone starts cold.
      const [best] = list(namespace).filter(isNamed).sort((a, b) => b.ready - a.ready);
      return best;
    },
    get: (namespace, id) => list(namespace).find((template) => template.id === id),
    list(namespace) {
      const all = list(namespace);
      const pooled = new Set(all.filter(({ kind }) => kind === "pool").map(({ id }) => id));
      return all.filter(({ kind, id }) => kind === "pool" || !pooled.has(id)).sort((a, b) => a.id < b.id ? -1 : 1);
    },
    async watch(options) {
      await Promise.all([
        listAndWatch(
          api,
          {
            path: pathOf({ resource: "sandboxwarmpools" }),
            parse: (object) => sandboxWarmPoolSchema.safeParse(withKind(object, "SandboxWarmPool")).data,
          },
          pools,
          options,
        ),
        listAndWatch(
          api,
          {
            path: pathOf({ resource: "sandboxtemplates" }),
            parse: (object) => sandboxTemplateSchema.safeParse(withKind(object, "SandboxTemplate")).data,
          },
          templates,
          options,
        ),
      ]);
    },
  };
}

/** Adds what the objects of a list do not have. */
function withKind(object: unknown, kind: string): object {
  return { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, ...object as object };
}

function seen(
  kind: Template["kind"],
  { metadata }: SandboxWarmPool | SandboxTemplate,
  template: SandboxTemplate,
): Template & { names: string[] } {
  const { podTemplate: { spec }, volumeClaimTemplates = [] } = template.spec;
  const { limits = {}, requests = {} } = spec.containers[0]?.resources ?? {};
  const amount = (resource: string) => quantityOf(limits[resource] ?? requests[resource]);
  const volumes = volumeClaimTemplates.map(({ spec }) => quantityOf(spec.resources?.requests?.["storage"]));
  const disk = volumes.length > 0 ? volumes.reduce((a, b) => a + b) : amount("ephemeral-storage");
  const named = (metadata.annotations?.[ALIASES_ANNOTATION] ?? metadata.name).split(",").map((alias) => alias.trim());
  const names = named.filter(Boolean).map((alias) => alias.includes(":") ? alias : `${alias}:${DEFAULT_TAG}`);
  return {
    id: metadata.name,
    kind,
    names,
    aliases: [...new Set(names.map((name) => name.replace(/:.*/, "")))],
    createdAt: metadata.creationTimestamp ?? "",
    cpuCount: Math.max(1, Math.ceil(amount("cpu"))),
    memoryMB: Math.round(amount("memory") / MEBIBYTE),
    diskSizeMB: Math.round(disk / MEBIBYTE),
    keepsFiles: volumes.length > 0,
    annotations: template.metadata.annotations ?? {},
  };
}

const MEBIBYTE = 1024 * 1024;

/** Returns 0 for what is absent or no quantity. */
function quantityOf(text: string | undefined): number {
  const amount = text === undefined ? 0 : quantity(text);
  return Number.isFinite(amount) ? amount : 0;
}
