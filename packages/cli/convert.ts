/** Reads files of Kubernetes objects, and prints v1alpha1 objects as v1beta1. @module */
import { withoutBigInts } from "../api/objects/exactjson.ts";
import { text } from "node:stream/consumers";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../api/objects/objects.ts";
import { convertObject, stateAnnotation } from "../api/v1alpha1.ts";
import { SHADOW_POOL } from "../api/v1alpha1claim.ts";
import type { CommandContext } from "./commandcontext.ts";
import { Failure } from "./failure.ts";
import { contentOf } from "./files.ts";
import { serialize } from "./output/print.ts";

const CORE = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";
const OLD = "v1alpha1";

type Fields = Record<string, unknown>;
interface Reference {
  name: string;
}

/** Converts the files, and prints all objects in them. @throws {Failure} if a file cannot be read or converted */
export async function runConvert(context: CommandContext, files: string[], format: "json" | "yaml"): Promise<void> {
  const found: KubeObject[] = [];
  for (const file of files) {
    const content = file === "-" ? await text(context.stdin) : await contentOf(file);
    found.push(...objectsIn(content, file === "-" ? "standard input" : file));
  }
  const objects = converted(found, (line) => context.stderr.write(`${line}\n`));
  if (format === "json") {
    const [only] = objects;
    const value = objects.length === 1 ? only : { apiVersion: "v1", kind: "List", items: objects };
    return context.stdout.write(await serialize(value, "json"));
  }
  const documents = await Promise.all(objects.map((object) => serialize(object, "yaml")));
  context.stdout.write(documents.join("---\n"));
}

/** Reads the objects of a file, including those in lists. */
function objectsIn(content: string, file: string): KubeObject[] {
  return parseAllDocuments(content, { intAsBigInt: true }).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw new Failure(`Cannot read ${file}: ${error.message}`);
    const value = withoutBigInts(document.toJS()) as { items?: unknown[] } | null;
    if (value === null) return [];
    const items = Array.isArray(value.items) ? value.items : [value];
    return items.map((item) => checked(item, file));
  });
}

function checked(value: unknown, file: string): KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown; metadata?: Fields };
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new Failure(`Cannot convert ${file}: it holds something without apiVersion and kind`);
  }
  if (typeof metadata?.["name"] === "string") return value as KubeObject;
  throw new Failure(`Cannot convert ${file}: a ${kind} has no metadata.name`, "Give it a name.");
}

/** Converts objects in their order. A pool that a claim needs is inserted before the first such claim. */
function converted(objects: KubeObject[], say: (line: string) => void): KubeObject[] {
  const old = objects.map((object) => isOurs(object) ? inPlace(object) : object);
  const pools = old.filter(({ kind }) => kind === "SandboxWarmPool");
  const made = new Set(pools.map(keyOf));
  return old.flatMap((object) => {
    if (!isOurs(object)) return [object];
    const fresh = withoutState(convert(object));
    if (object.kind !== "SandboxClaim") return [fresh];
    const { name } = (fresh["spec"] as { warmPoolRef: Reference }).warmPoolRef;
    if (!name.startsWith(SHADOW_POOL)) return [fresh];
    const template = name.slice(SHADOW_POOL.length);
    const { warmpool = "default" } = object["spec"] as { warmpool?: string };
    const pool = warmpool === "default" ? pools.find((pool) => isOf(pool, object, template)) : undefined;
    if (pool) {
      const spec = { ...fresh["spec"] as object, warmPoolRef: { name: pool.metadata.name } };
      return [{ ...fresh, spec }];
    }
    const shadow = shadowPool(name, template, object.metadata.namespace);
    if (made.has(keyOf(shadow))) return [fresh];
    made.add(keyOf(shadow));
    say(
      `SandboxClaim ${object.metadata.name} names a template in place of a pool: SandboxWarmPool ${name}, ` +
        "without members, stands for it. To serve it from a pool, name that in spec.warmPoolRef.",
    );
    return [shadow, fresh];
  });
}

function isOurs({ apiVersion }: KubeObject): boolean {
  return [`${CORE}/${OLD}`, `${EXTENSIONS}/${OLD}`].includes(apiVersion);
}

function convert(object: KubeObject): KubeObject {
  try {
    return convertObject(object, "v1beta1");
  } catch (error) {
    throw new Failure((error as Error).message);
  }
}

/**
 * Moves what early documents wrote elsewhere: extensions in the core group, `template` and `size`. No API server has
 * ever accepted these.
 */
function inPlace(object: KubeObject): KubeObject {
  if (object.kind === "Sandbox") return object;
  const { template, size, ...spec } = (object["spec"] ?? {}) as Fields;
  const placed = {
    ...spec,
    ...(size === undefined ? {} : { replicas: size }),
    ...(template === undefined
      ? {}
      : typeof template === "string"
      ? { sandboxTemplateRef: { name: template } }
      : { podTemplate: template }),
  };
  return { ...object, apiVersion: `${EXTENSIONS}/${OLD}`, spec: placed };
}

/**
 * Removes the annotation with the original object. API servers need it to convert an object back, but a file does not.
 */
function withoutState(object: KubeObject): KubeObject {
  const { annotations = {}, ...metadata } = object.metadata;
  const { [stateAnnotation(object.kind)]: _, ...left } = annotations;
  return { ...object, metadata: Object.keys(left).length > 0 ? { ...metadata, annotations: left } : metadata };
}

function isOf({ metadata, spec }: KubeObject, claim: KubeObject, template: string): boolean {
  const { sandboxTemplateRef } = (spec ?? {}) as { sandboxTemplateRef?: Reference };
  return metadata.namespace === claim.metadata.namespace && sandboxTemplateRef?.name === template;
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

function shadowPool(name: string, template: string, namespace: string | undefined): KubeObject {
  return {
    apiVersion: `${EXTENSIONS}/v1beta1`,
    kind: "SandboxWarmPool",
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      annotations: {
        "agents.x-k8s.io/migration-shadow": "true",
        "agents.x-k8s.io/migration-source-template": template,
      },
    },
    spec: { replicas: 0, sandboxTemplateRef: { name: template } },
  };
}
