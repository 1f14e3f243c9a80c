/** Writes declarations as in a `.d.ts`, private members left out. Knows no page. @module */
import type { Declaration, Definition, FunctionDef, Member, Signature, TsType } from "./denodoc.ts";
import { paramText, typeParamsText, typeText } from "./typetext.ts";

const WIDTH = 100;

/** Writes a function or method in one line, or with a line for each parameter where that is too long. */
export function functionText(prefix: string, { params, returnType, typeParams }: FunctionDef): string {
  const head = `${prefix}${typeParamsText(typeParams)}(`;
  const tail = returnType ? `): ${typeText(returnType)};` : ");";
  const texts = params.filter(({ name }) => name !== "this").map((param) => paramText(param));
  const line = head + texts.join(", ") + tail;
  return line.length <= WIDTH || texts.length === 0
    ? line
    : `${head}\n${texts.map((text) => `  ${text},\n`).join("")}${tail}`;
}

/** Writes what begins a method: `static name?`. */
export function methodPrefix({ isStatic, name, optional }: Member): string {
  return `${isStatic ? "static " : ""}${name}${optional ? "?" : ""}`;
}

/** Lists the members of a class or interface that its users may use, in the order of the source. */
export function publicMembers(members: Member[] | undefined): Member[] {
  return (members ?? []).filter(({ accessibility }) => accessibility === undefined || accessibility === "public");
}

/** Writes a declaration: of a class without its members, of an interface without those that have names. */
export function declarationText(name: string, { kind, def }: Declaration): string {
  if (kind === "function") return functionText(`function ${name}`, { params: def.params ?? [], ...def });
  if (kind === "typeAlias") return aliasText(`type ${name}${typeParamsText(def.typeParams)} =`, def.tsType);
  if (kind === "variable") return `const ${name}: ${typeText(def.tsType)};`;
  if (kind === "interface") {
    const lines = signatureTexts(def).map((text) => `  ${text}\n`).join("");
    return `interface ${name}${typeParamsText(def.typeParams)}${extendsText(def)}${lines && ` {\n${lines}}`}`;
  }
  if (kind === "class") return `class ${name}${typeParamsText(def.typeParams)}${extendsText(def)}`;
  throw new TypeError(`Cannot write ${name}: a ${kind} is not known here`);
}

/** A union that is too long for a line gets a line for each of its members. */
function aliasText(head: string, type: TsType | undefined): string {
  const line = `${head} ${typeText(type)};`;
  if (line.length <= WIDTH || type?.kind !== "union") return line;
  return `${head}${(type.value as TsType[]).map((member) => `\n  | ${typeText(member)}`).join("")};`;
}

/** Writes what can be called, created or indexed: what an interface has beside properties and methods. */
function signatureTexts({ callSignatures = [], indexSignatures = [], constructors = [] }: Definition): string[] {
  const index = (signature: Signature) =>
    `[${signature.params.map((param) => paramText(param)).join(", ")}]: ${typeText(signature.tsType)};`;
  const call = (prefix: string) => ({ params, typeParams, tsType, returnType }: Signature) => {
    const type = tsType ?? returnType;
    return functionText(prefix, { params, ...(typeParams && { typeParams }), ...(type && { returnType: type }) });
  };
  return [...callSignatures.map(call("")), ...constructors.map(call("new ")), ...indexSignatures.map(index)];
}

function extendsText(def: Definition): string {
  const parents = typeof def.extends === "string"
    ? [`${def.extends}${def.superTypeParams?.length ? `<${def.superTypeParams.map(typeText).join(", ")}>` : ""}`]
    : (def.extends ?? []).map(typeText);
  const kinds = (def.implements ?? []).map(typeText);
  return `${parents.length > 0 ? ` extends ${parents.join(", ")}` : ""}${
    kinds.length > 0 ? ` implements ${kinds.join(", ")}` : ""
  }`;
}
