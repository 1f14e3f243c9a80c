/** What `deno doc --json` says of a module's public exports, as far as it is used here. Reads only. @module */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { pathToFileURL } from "node:url";

/** A documentation comment: `doc` is what stands before the first tag that begins a line. */
export interface JSDoc {
  doc?: string;
  tags?: { kind: string; name?: string; doc?: string; value?: string; tsType?: TsType }[];
}

/** A type; `value` depends on `kind`. */
export interface TsType {
  kind: string;
  // deno-lint-ignore no-explicit-any
  value?: any;
}

export interface TypeParam {
  name: string;
  constraint?: TsType;
  default?: TsType;
}

/** A parameter; `left` is what stands before a default, `arg` what is behind three dots. */
export interface Param {
  kind: string;
  name?: string;
  optional?: boolean;
  tsType?: TsType;
  left?: Param;
  arg?: Param;
}

export interface FunctionDef {
  params: Param[];
  returnType?: TsType;
  typeParams?: TypeParam[];
  isAsync?: boolean;
  isGenerator?: boolean;
  hasBody?: boolean;
}

/** A property, or a method: then with `params` (of an interface) or `functionDef` (of a class). */
export interface Member extends Partial<FunctionDef> {
  name: string;
  jsDoc?: JSDoc;
  kind?: string;
  tsType?: TsType;
  optional?: boolean;
  readonly?: boolean;
  isStatic?: boolean;
  isOverride?: boolean;
  accessibility?: string;
  functionDef?: FunctionDef;
}

export interface Signature {
  jsDoc?: JSDoc;
  params: Param[];
  tsType?: TsType;
  returnType?: TsType;
  typeParams?: TypeParam[];
  readonly?: boolean;
}

/** What a declaration consists of: which fields there are depends on its kind. */
export interface Definition extends Partial<FunctionDef> {
  tsType?: TsType;
  constructors?: Signature[];
  properties?: Member[];
  methods?: Member[];
  callSignatures?: Signature[];
  indexSignatures?: Signature[];
  /** A class's is a name, an interface's are types. */
  extends?: string | TsType[];
  superTypeParams?: TsType[];
  implements?: TsType[];
}

export interface Declaration {
  declarationKind: "export" | "private" | "declare";
  kind: string;
  jsDoc?: JSDoc;
  def: Definition;
  /** Lines are counted from 0. */
  location: { filename: string; line: number };
}

/** What is exported under a name, or, being private, stands in the signature of what is exported. */
export interface Symbols {
  name: string;
  declarations: Declaration[];
}

/** Lists the exports of modules, each module's in the order of its source. @throws {Error} with what deno says */
export function readExports(files: readonly string[]): Symbols[][] {
  const { status, stdout, stderr } = spawnSync("deno", ["doc", "--json", "--quiet", ...files], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, NO_COLOR: "1" },
  });
  if (status !== 0) {
    throw new Error(`Cannot read the exports of ${files.join(", ")}: deno doc ended with ${status}\n${stderr}`);
  }
  const { version, nodes } = JSON.parse(stdout);
  if (version !== 2) throw new Error(`Cannot read what deno doc says: it is version ${version}, and 2 is known`);
  return files.map((file) => nodes[pathToFileURL(file).href].symbols);
}
