/**
 * Generates the pages of the reference: the fields of hookbox's kinds, from the CRDs, and the options of processes.
 * @module
 */
import { parse } from "yaml";
import { extrasOf, termOf, unsetOf } from "../../packages/process/flaghelp.ts";
import type { Flag, Program } from "../../packages/process/flags.ts";

interface Schema {
  description?: string;
  type?: string;
  format?: string;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  required?: string[];
  "x-kubernetes-validations"?: { message?: string; rule: string }[];
}

interface Crd {
  spec: {
    group: string;
    names: { kind: string; plural: string; shortNames?: string[] };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/** One row of a table: a field, with its path in the object, such as `spec.podTemplate.metadata.labels`. */
interface Field {
  path: string;
  schema: Schema;
  isRequired: boolean;
}

const INTRO = `This page lists the options of each process, as \`--help\` shows them. Write them as \`--name value\` or
\`--name=value\`. If you set an option twice, the last value counts.

- A switch has no value. \`--x\` turns it on, and \`--no-x\` or \`--x=false\` turns it off. One that is on by default is
  listed as \`--no-x\`.
- A duration is written as \`200ms\`, \`30s\`, \`5m\`, \`1h30m\`, or as a number of seconds.
- A size is a number of bytes, or a number with \`Ki\`, \`Mi\` or \`Gi\`.
- A list has commas between its words.
- "Since" is the first release with the option.`;

/**
 * Returns the page as Markdown.
 * @param crds the text of each CRD, in the order of the page
 */
export function apiPage(crds: readonly string[]): string {
  const intro =
    "This page lists the fields of each kind, as the CRDs define them. `kubectl explain` also shows the fields that come " +
    "from Kubernetes itself, such as those of a Pod. A field with an asterisk is required.";
  const parsed = crds.map((text): Crd => parse(text));
  const places = placesOf(parsed.map(({ spec: { names: { kind } } }) => kind));
  const title = "# Kubernetes API reference: Sandbox, claim, pool, template";
  return `${[title, intro, places, ...parsed.map(section)].join("\n\n")}\n`;
}

/** Returns links to sections of the page. Other headlines have different anchors on GitHub and on the site. */
function placesOf(headlines: readonly string[]): string {
  return headlines.map((name) =>
    /^[\w ]+$/.test(name) ? `[${name}](#${name.toLowerCase().replaceAll(" ", "-")})` : name
  ).join(" · ");
}

function section({ spec: { group, names, versions } }: Crd): string {
  const parts = versions.map(({ name, schema: { openAPIV3Schema: schema } }) => {
    const short = (names.shortNames ?? []).filter((word) => word !== names.kind.toLowerCase());
    const called = [names.plural, ...short].map((word) => `\`${word}\``).join(", ");
    const fields = ["spec", "status"].flatMap((part) => fieldsOf(part, schema.properties?.[part]));
    const rules = rulesOf("", schema).map((rule) => `- ${rule}`);
    return [
      `## ${names.kind}`,
      `${schema.description}`,
      `\`apiVersion: ${group}/${name}\`. For kubectl: ${called}.`,
      table(fields),
      ...rules.length > 0 ? [`The API server refuses what breaks a rule:\n\n${rules.join("\n")}`] : [],
    ].join("\n\n");
  });
  return parts.join("\n\n");
}

/** Lists hookbox's fields below a field. Fields without a description are Kubernetes' own, and are documented there. */
function fieldsOf(path: string, schema: Schema | undefined): Field[] {
  const object = schema?.items ?? schema;
  return Object.entries(object?.properties ?? {}).filter(([, { description }]) => description !== undefined).flatMap(
    ([name, field]): Field[] => {
      const at = `${path}.${name}`;
      const isRequired = object?.required?.includes(name) ?? false;
      return [{ path: at, schema: field, isRequired }, ...fieldsOf(field.items === undefined ? at : `${at}[]`, field)];
    },
  );
}

/** Lists the messages of the validation rules of a schema and of everything below it. */
function rulesOf(path: string, schema: Schema): string[] {
  const own = (schema["x-kubernetes-validations"] ?? []).map(({ message, rule }) =>
    `${path === "" ? "" : `\`${path}\`: `}${message ?? `\`${rule}\``}`
  );
  const below = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    rulesOf(path === "" ? name : `${path}.${name}`, field)
  );
  return [...own, ...below.flat(), ...schema.items === undefined ? [] : rulesOf(`${path}[]`, schema.items)];
}

function table(fields: readonly Field[]): string {
  const rows = fields.map(({ path, schema, isRequired }) =>
    `| \`${path}\`${isRequired ? "*" : ""} | ${typeOf(schema)} | ${cell(schema.description ?? "")}${limitsOf(schema)} |`
  );
  return ["| field | type | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.format === "date-time") return "time";
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}s`;
  if (typeof schema.additionalProperties === "object") return `map of ${typeOf(schema.additionalProperties)}s`;
  return schema.type ?? "any";
}

function limitsOf({ default: value, minimum, maximum }: Schema): string {
  const limits = [
    ...typeof value === "object" || value === undefined ? [] : [`default \`${value}\``],
    ...minimum === undefined ? [] : [`at least ${minimum}`],
    ...maximum === undefined ? [] : [`at most ${maximum}`],
  ];
  return limits.length === 0 ? "" : ` (${limits.join(", ")})`;
}

/** Escapes a text so that it does not end its cell, and is not read as an HTML element. */
function cell(text: string): string {
  return text.replaceAll(/[|<]/g, "\\$&");
}

/**
 * Returns the first page of the reference as Markdown.
 * @param modules the page that TypeDoc has written: a headline and a table of the packages
 */
export function indexPage(modules: string): string {
  const [, packages = ""] = modules.split(/^## Modules\n/m);
  return `# Reference

| look up                                                  | page                                         |
| -------------------------------------------------------- | -------------------------------------------- |
| a field of a Sandbox, claim, pool or template            | [Kubernetes API](kubernetes.md)              |
| a command of \`hookbox\`                                 | [Command line](../cli.md)                    |
| an option of the hooks, the router or another process    | [Options](flags.md)                          |
| a method, a type or an error of the SDK                  | [Package \`hookbox\`](modules/hookbox.md)    |
| a function for tests with a cluster in memory            | [Package \`@hookbox/testing\`](modules/_hookbox_testing.md) |
| a cause that \`hookbox why\` reports                     | [Troubleshooting](../why.md#codes)           |
| an alert                                                 | [Alerts](../reliability.md#alerts)           |

## Packages
${packages}`;
}

/** Returns the page as Markdown. */
export function flagsPage(programs: readonly Program[]): string {
  const title = "# Options of the processes: hooks, keeper, binder, router, egress policy, E2B's API, runtime";
  const places = placesOf(programs.map(({ name }) => name));
  return `${[title, INTRO, places, ...programs.map(part)].join("\n\n")}\n`;
}

function part({ name, about, flags, gone = {} }: Program): string {
  const sections = [...Map.groupBy(Object.entries(flags), ([, { section = "" }]) => section)];
  const tables = sections.map(([heading, entries]) => {
    const rows = entries.map(([flag, each]) => row(flag, each));
    const table = ["| option | value | default | since | meaning |", "| --- | --- | --- | --- | --- |", ...rows].join(
      "\n",
    );
    return heading === "" ? table : `### ${heading}\n\n${table}`;
  });
  const left = Object.entries(gone).map(([flag, { since, why }]) =>
    `\`--${flag}\` is gone since ${since}, ${cell(why)}.`
  );
  return [`## ${name}`, cell(about), ...tables, ...left].join("\n\n");
}

function row(name: string, flag: Flag): string {
  const { type, since, help } = flag;
  const preset = unsetOf(flag);
  const isTyped = flag.otherwise === undefined && flag.env === undefined && preset !== "";
  const cells = [
    `\`${termOf(name, flag)}\``,
    cell(type.name),
    isTyped ? `\`${preset}\`` : cell(preset),
    since,
    `${cell(help)}${extrasOf(flag)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}
