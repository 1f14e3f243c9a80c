/**
 * Reads the part of YAML that kubectl and other programs in Go write: maps and lists in block style, with texts on one
 * line. This takes a tenth of the time of loading and running a parser for all of YAML.
 * @module
 */
import type { Json } from "../api/objects/json.ts";

/** Thrown inside of this file only. */
const UNUSUAL = Symbol("not plain YAML");

/**
 * Returns what the text means, as js-yaml does.
 *
 * @returns undefined if the text has anything else, such as comments behind values, anchors or numbers, or is not YAML
 */
export function readPlainYAML(text: string): unknown {
  try {
    return readLines(linesOf(text));
  } catch (error) {
    if (error === UNUSUAL) return undefined;
    throw error;
  }
}

function unusual(): never {
  throw UNUSUAL;
}

/** A line; `- ` at its start is a line of its own, and what follows is one that is indented further. */
interface Line {
  indent: number;
  text: string;
}

const ITEM = "-";
const KEY = /^([A-Za-z][\w./-]*):(?: +(.+))?$/;

function linesOf(text: string): Line[] {
  if (!/^(?:[\n -~]|\r\n)*$/.test(text)) return unusual();
  return text.split(/\r?\n/).flatMap((line) => {
    let rest = line.trim();
    let indent = line.length - line.trimStart().length;
    if (rest === "" || rest.startsWith("#")) return [];
    const items: Line[] = [];
    for (let item; (item = /^-(?: +|$)/.exec(rest)?.[0]) !== undefined; indent += item.length) {
      items.push({ indent, text: ITEM });
      rest = rest.slice(item.length);
    }
    return rest === "" ? items : [...items, { indent, text: rest }];
  });
}

function readLines(lines: readonly Line[]): unknown {
  let at = 0;
  const indentNow = () => lines[at]?.indent ?? -1;
  const isItem = () => lines[at]?.text === ITEM;

  /** Reads what is indented by `indent`. A line that is indented further would continue a text. */
  function readBlock(indent: number): unknown {
    const block = isItem() ? readList(indent) : KEY.test(lines[at]?.text ?? "") ? readMap(indent) : readText();
    return indentNow() > indent ? unusual() : block;
  }

  function readList(indent: number): unknown[] {
    const list: unknown[] = [];
    while (indentNow() === indent && isItem()) {
      at++;
      list.push(indentNow() > indent ? readBlock(indentNow()) : null);
    }
    return list;
  }

  function readMap(indent: number): Json {
    const map: Json = {};
    while (indentNow() === indent && !isItem()) {
      const [, key, value] = KEY.exec(lines[at]?.text ?? "") ?? [];
      if (key === undefined || A_CONSTANT.test(key) || Object.hasOwn(map, key)) return unusual();
      at++;
      map[key] = value === undefined ? readBelow(indent) : valueOf(value);
      if (indentNow() > indent) return unusual();
    }
    return map;
  }

  /** Reads the value of a key: a list may be indented as the key is. */
  function readBelow(indent: number): unknown {
    if (indentNow() > indent) return readBlock(indentNow());
    return indentNow() === indent && isItem() ? readList(indent) : null;
  }

  function readText(): unknown {
    return valueOf(lines[at++]?.text ?? "");
  }

  const content = lines.length > 0 ? readBlock(indentNow()) : unusual();
  return at === lines.length ? content : unusual();
}

const CONSTANTS: Record<string, () => unknown> = {
  "true": () => true,
  "false": () => false,
  "null": () => null,
  "{}": () => ({}),
  "[]": () => [],
};
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
/** Without spaces, `#`, and what begins or ends something else in YAML. */
const PLAIN = /^(?:--)?[A-Za-z0-9/](?:[\w+/=.@:~%-]*[\w+/=.@~%-])?$/;
const NUMBER = /^\d+(?:\.\d*)?(?:[eE][-+]?\d+)?$|^0[ox]/;
const A_CONSTANT = /^(?:true|false|null)$/i;

function valueOf(text: string): unknown {
  const constant = Object.hasOwn(CONSTANTS, text) ? CONSTANTS[text] : undefined;
  if (constant) return constant();
  const [, double, single] = QUOTED.exec(text) ?? [];
  if (double !== undefined || single !== undefined) return double ?? single;
  return PLAIN.test(text) && !NUMBER.test(text) && !A_CONSTANT.test(text) ? text : unusual();
}
