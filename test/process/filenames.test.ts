/** File names that are not UTF-8: as text, in URLs, and back to bytes. @module */
import { Buffer } from "node:buffer";
import fc from "../properties.ts";
import { expect, test } from "vitest";
import { bytesOfName, decodeName, encodeName, isEscaped, textOfName } from "../../packages/process/filenames.ts";

test.for<[string, string, string]>([
  ["plain.txt", "plain.txt", "plain.txt"],
  ["caf\xe9.txt", "caf\udce9.txt", "caf%E9.txt"],
  ["\xff", "\udcff", "%FF"],
  ["\xe2\x98\x95", "☕", "%E2%98%95"],
  ["\xe2\x98", "\udce2\udc98", "%E2%98"],
  ["a\xf0\x9f\x98\x80\x80b/c", "a😀\udc80b/c", "a%F0%9F%98%80%80b%2Fc"],
  // UTF-8 has no surrogates, and no byte order mark is lost.
  ["\xed\xb3\xa9", "\udced\udcb3\udca9", "%ED%B3%A9"],
  ["\xef\xbb\xbfa", "\ufeffa", "%EF%BB%BFa"],
])("%j is %j, and %s in a URL", ([bytes, text, url]) => {
  const all = Buffer.from(bytes, "latin1");
  expect(textOfName(all)).toBe(text);
  expect(Buffer.from(bytesOfName(text))).toEqual(all);
  expect(encodeName(text)).toBe(url);
  expect(decodeName(url)).toBe(text);
  expect(isEscaped(text)).toBe(/[\udc80-\udcff]/u.test(text));
  expect(JSON.parse(JSON.stringify(text))).toBe(text);
});

test("any bytes come back as they were, also through a URL", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
    const text = textOfName(bytes);
    expect(bytesOfName(text)).toEqual(new Uint8Array(bytes));
    expect(decodeName(encodeName(text))).toBe(text);
  }));
});

test("what is no encoding is refused", () => {
  for (const bad of ["%", "a%2", "%zz", "%E9%"]) expect(() => decodeName(bad)).toThrow(URIError);
  expect(() => encodeName("\ud83d")).toThrow(URIError);
});
