/** `hookbox convert`: converts files from v1alpha1 to v1beta1. @module */
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { parseAllDocuments } from "yaml";
import { withoutBigInts } from "../../api/objects/json.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { convertObject, SHADOW_POOL, stateAnnotation } from "../../api/v1alpha1/convert.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Failure, UsageError } from "../failure.ts";
import { collect, contentOf } from "../options.ts";
import { formatOf, serialize } from "../output.ts";

interface ConvertOptions {
  filename: string[];
  output?: string;
}

const MORE = `
Objects of other kinds are printed unchanged; comments are dropped. In v1alpha1, a claim may name a template instead of
a pool. If the files contain a pool of that template, the claim gets that pool. Otherwise a new pool without members is
printed for it.

Examples:
  hookbox convert -f sandbox.yaml | kubectl apply -f -
  kubectl get sandboxes.v1alpha1.agents.x-k8s.io -A -o yaml | hookbox convert -f -`;

export function defineConvert(command: Command, context: CommandContext): void {
  command
    .option("-f, --filename <file>", "file to convert; - is standard input; can be repeated", collect, [])
    .option("-o, --output <format>", "yaml or json", "yaml")
    .addHelpText("after", MORE)
    .action(async ({ filename: files, output }: ConvertOptions) => {
      if (files.length === 0) throw new UsageError("Cannot convert: no file is named. Use -f FILE");
      const format = formatOf(output, ["json", "yaml"]) === "json" ? "json" : "yaml";
      await runConvert(context, files, format);
    });
}

const CORE = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";
const OLD = "v1alpha1";

type Fields = Record<string, unknown>;
interface Reference {
  name: string;
}

/** Converts the files, and prints all objects in them. @throws {Failure} if a file cannot be read or converted */
async function runConvert(context: CommandContext, files: string[], format: "json" | "yaml"): Promise<void> {
  const found: KubeObject[] = [];
  for (const file of files) {
    const content = file === "-" ? await text(context.stdin) : await contentOf(file);
    found.push(...objectsIn(content, file === "-" ? "standard input" : file));
  }
  const objects = convertAll(found, (line) => context.stderr.write(`${line}\n`));
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
    throw new Failure(`Cannot convert ${file}: an object in it has no apiVersion or kind`);
  }
  if (typeof metadata?.["name"] === "string") return value as KubeObject;
  throw new Failure(`Cannot convert ${file}: a ${kind} has no metadata.name`, "Give it a name.");
}

/** Converts objects in their order. A pool that a claim needs is inserted before the first such claim. */
function convertAll(objects: KubeObject[], warn: (line: string) => void): KubeObject[] {
  const old = objects.map((object) => isOurs(object) ? corrected(object) : object);
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
    warn(
      `SandboxClaim ${object.metadata.name} names a template instead of a pool: SandboxWarmPool ${name}, ` +
        "without members, is printed for it. To serve it from another pool, name that pool in spec.warmPoolRef.",
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
 * Corrects an object from early documents: its API group, and its fields `template` and `size`. No API server has ever
 * accepted these.
 */
function corrected(object: KubeObject): KubeObject {
  if (object.kind === "Sandbox") return object;
  const { template, size, ...spec } = (object["spec"] ?? {}) as Fields;
  const fields = {
    ...spec,
    ...size === undefined ? {} : { replicas: size },
    ...template === undefined
      ? {}
      : typeof template === "string"
      ? { sandboxTemplateRef: { name: template } }
      : { podTemplate: template },
  };
  return { ...object, apiVersion: `${EXTENSIONS}/${OLD}`, spec: fields };
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
      ...namespace === undefined ? {} : { namespace },
      annotations: {
        "agents.x-k8s.io/migration-shadow": "true",
        "agents.x-k8s.io/migration-source-template": template,
      },
    },
    spec: { replicas: 0, sandboxTemplateRef: { name: template } },
  };
}
