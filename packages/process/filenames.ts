/**
 * Converts names of files between bytes and text. On Linux a name is bytes, which need not be UTF-8. The text has a
 * lone surrogate, U+DC80 to U+DCFF, for each byte that is not UTF-8, like Python's `os.fsdecode` (PEP 383). JSON shows
 * it as `\udce9`, and a URL has the byte itself, `%E9`.
 * @module
 */

const ESCAPE = 0xdc00;
const ESCAPED = /[\udc80-\udcff]/u;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Returns whether a name or a path has bytes that are not UTF-8. */
export function isEscaped(text: string): boolean {
  return ESCAPED.test(text);
}

/** Returns the text of a name or a path. */
export function textOfName(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    let text = "";
    for (let at = 0; at < bytes.length;) {
      const [character, length] = characterAt(bytes, at);
      text += character;
      at += length;
    }
    return text;
  }
}

/** Returns the bytes of a name or a path. */
export function bytesOfName(text: string): Uint8Array<ArrayBuffer> {
  if (!isEscaped(text)) return encoder.encode(text);
  const bytes = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return ESCAPED.test(character) ? [code - ESCAPE] : [...encoder.encode(character)];
  });
  return Uint8Array.from(bytes.flat());
}

function characterAt(bytes: Uint8Array, at: number): [string, number] {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  try {
    return [decoder.decode(bytes.subarray(at, at + length)), length];
  } catch {
    return [String.fromCharCode(ESCAPE + first), 1];
  }
}

/** Percent-encodes a whole path, including slashes. @throws {URIError} for a surrogate that does not stand for a byte */
export function encodeName(text: string): string {
  if (!isEscaped(text)) return encodeURIComponent(text);
  return Array.from(text, (character) => {
    if (!ESCAPED.test(character)) return encodeURIComponent(character);
    return `%${((character.codePointAt(0) ?? 0) - ESCAPE).toString(16).toUpperCase()}`;
  }).join("");
}

/** Decodes a percent-encoded path. @throws {URIError} if a percent sign is not followed by two hexadecimal digits */
export function decodeName(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (error) {
    if (/%(?![0-9a-f]{2})/i.test(encoded)) throw error;
    const parts = encoded.split(/(%[0-9a-f]{2})/i).map((part) =>
      part.startsWith("%") ? [Number.parseInt(part.slice(1), 16)] : [...bytesOfName(part)]
    );
    return textOfName(Uint8Array.from(parts.flat()));
  }
}
