/** Writes types as TypeScript does. Knows no page. @module */
import type { Member, Param, Signature, TsType, TypeParam } from "./denodoc.ts";

type Writer = (value: NonNullable<TsType["value"]>) => string;

const WRITERS: Record<string, Writer> = {
  keyword: String,
  typeQuery: (name) => `typeof ${name}`,
  this: () => "this",
  literal: literalText,
  typeRef: ({ typeName, typeParams }) => `${typeName}${typeParams ? `<${typesText(typeParams)}>` : ""}`,
  union: (types) => types.map(typeText).join(" | "),
  intersection: (types) => types.map(typeText).join(" & "),
  array: (type) => `${typeText(type)}[]`,
  tuple: (types) => `[${typesText(types)}]`,
  optional: (type) => `${typeText(type)}?`,
  rest: (type) => `...${typeText(type)}`,
  parenthesized: (type) => `(${typeText(type)})`,
  typeOperator: ({ operator, tsType }) => `${operator} ${typeText(tsType)}`,
  indexedAccess: ({ objType, indexType }) => `${typeText(objType)}[${typeText(indexType)}]`,
  fnOrConstructor: (fn) =>
    `${fn.constructor === true ? "new " : ""}${typeParamsText(fn.typeParams)}(${paramsText(fn.params)}) => ${
      typeText(fn.tsType)
    }`,
  typeLiteral: (def) => braced(memberTexts(def)),
  conditional: (type) =>
    `${typeText(type.checkType)} extends ${typeText(type.extendsType)} ? ${typeText(type.trueType)} : ${
      typeText(type.falseType)
    }`,
  infer: ({ typeParam }) => `infer ${typeParamText(typeParam)}`,
  importType: ({ specifier, qualifier }) => `import("${specifier}")${qualifier ? `.${qualifier}` : ""}`,
  typePredicate: ({ asserts, param, type }) =>
    `${asserts ? "asserts " : ""}${param.name ?? "this"}${type ? ` is ${typeText(type)}` : ""}`,
  mapped: ({ readonly, typeParam, optional, tsType }) => {
    const key = `${typeParam.name} in ${typeText(typeParam.constraint)}`;
    return `{ ${readonly ? "readonly " : ""}[${key}]${optional ? "?" : ""}: ${typeText(tsType)} }`;
  },
};

/** Writes a type in one line. @throws {TypeError} for a kind of type that is not known here */
export function typeText(type: TsType | undefined): string {
  if (type === undefined) return "unknown";
  const write = WRITERS[type.kind];
  if (!write) throw new TypeError(`Cannot write a type of kind "${type.kind}": it is not known here`);
  return write(type.value);
}

function typesText(types: TsType[]): string {
  return types.map(typeText).join(", ");
}

function literalText(value: Record<string, unknown> & { kind: string; tsTypes?: TsType[] }): string {
  if (value.kind === "string") return JSON.stringify(value["string"]);
  if (value.kind === "bigInt") return `${value["string"]}n`;
  if (value.kind !== "template") return String(value[value.kind]);
  const parts = (value.tsTypes ?? []).map((part) =>
    part.kind === "literal" && part.value.kind === "string" ? part.value.string : `\${${typeText(part)}}`
  );
  return `\`${parts.join("")}\``;
}

function braced(members: string[]): string {
  return members.length === 0 ? "{}" : `{ ${members.join("; ")} }`;
}

interface Members {
  properties?: Member[];
  methods?: Member[];
  callSignatures?: Signature[];
  indexSignatures?: Signature[];
}

function memberTexts({ callSignatures = [], indexSignatures = [], properties = [], methods = [] }: Members): string[] {
  return [
    ...callSignatures.map(({ params, tsType }) => `(${paramsText(params)}): ${typeText(tsType)}`),
    ...indexSignatures.map(({ params, tsType, readonly }) =>
      `${readonly ? "readonly " : ""}[${paramsText(params)}]: ${typeText(tsType)}`
    ),
    ...properties.map(propertyText),
    ...methods.map((method) =>
      `${method.name}${method.optional ? "?" : ""}(${paramsText(method.params ?? [])}): ${typeText(method.returnType)}`
    ),
  ];
}

function propertyText({ name, optional, readonly, tsType }: Member): string {
  return `${readonly ? "readonly " : ""}${name}${optional ? "?" : ""}: ${typeText(tsType)}`;
}

/** Writes `<T extends string = "x">`, nothing where there are no type parameters. */
export function typeParamsText(params: TypeParam[] = []): string {
  return params.length === 0 ? "" : `<${params.map(typeParamText).join(", ")}>`;
}

function typeParamText({ name, constraint, default: fallback }: TypeParam): string {
  return `${name}${constraint ? ` extends ${typeText(constraint)}` : ""}${fallback ? ` = ${typeText(fallback)}` : ""}`;
}

function paramsText(params: Param[]): string {
  return params.map((param) => paramText(param)).join(", ");
}

/** Writes a parameter; one that is taken apart, or has a default, as a caller sees it: `options?: Options`. */
export function paramText(param: Param): string {
  const inner = param.left ?? param;
  const type = inner.tsType ?? param.tsType;
  const isOptional = inner.optional || param.left !== undefined;
  return `${param.kind === "rest" ? "..." : ""}${paramName(param)}${isOptional ? "?" : ""}${
    type ? `: ${typeText(type)}` : ""
  }`;
}

/** Names a parameter: one that is taken apart is called `options`. */
export function paramName(param: Param): string {
  const inner = param.left ?? param.arg ?? param;
  return inner.name ?? "options";
}
