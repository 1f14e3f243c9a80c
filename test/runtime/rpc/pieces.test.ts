/** Text of contexts whose characters arrive in several pieces, or in another encoding; imports of JavaScript. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aClient } from "./running.ts";

const OUTPUT: [string, string, string][] = [
  ["python", "import sys\nfor b in '☕😀'.encode(): sys.stdout.buffer.write(bytes([b]))", "☕😀"],
  [
    "python",
    "import sys\nsys.stdout.buffer.write(b'\\xe2'); print('a'); sys.stdout.buffer.write(b'\\x98')",
    "\\xe2a\n\\x98",
  ],
  ["python", "import os\nfor b in '☕😀'.encode(): os.write(1, bytes([b]))", "☕😀"],
  [
    "python",
    "import subprocess\nsubprocess.run(['printf', '\\\\342']); subprocess.run(['printf', '\\\\230\\\\225'])\nNone",
    "☕",
  ],
  ["javascript", "for (const b of Buffer.from('☕😀')) process.stdout.write(Buffer.of(b)); undefined", "☕😀"],
  ["javascript", "process.stdout.write(Buffer.of(0xe2)); process.stdout.write('a'); undefined", "\ufffda"],
  [
    "javascript",
    "process.stdout.write('68656c6c6f', 'hex'); process.stdout.write('é', 'latin1'); process.stdout.write(''); undefined",
    "hello\ufffd",
  ],
  ["javascript", "for (const b of Buffer.from('☕')) require('fs').writeSync(1, Buffer.of(b)); undefined", "☕"],
];

test("a character is whole, in however many pieces it was written", async () => {
  const { run } = await aClient();
  for (const [language, code, stdout] of OUTPUT) {
    expect(await run(code, { language }), code).toMatchObject({ stdout, error: "" });
  }
});

const IMPORTS: [string, string][] = [
  ["import d from './p.json' with { type: 'json' }; d.v", "1"],
  ["import * as ns from './p.json' with { type: 'json' }; ns.default.v", "1"],
  ["(await import('./p.json', { with: { type: 'json' } })).default.v", "1"],
  ["import def, { a, b as bb } from './m.mjs'; [def, a, bb]", "[ 2, 1, 3 ]"],
  ["import { a /* one */, // two\n b, default as e } from './m.mjs'; [a, b, e]", "[ 1, 3, 2 ]"],
  ["import { 'c-d' as cd, é } from './m.mjs'; [cd, é]", "[ 4, 5 ]"],
  ["import.meta.dirname === process.cwd() && import.meta.url.startsWith('file:')", "true"],
  ["import.meta.resolve('./m.mjs').endsWith('/m.mjs')", "true"],
];

test.for(["javascript", "typescript"])("%s imports, with attributes and import.meta", async (language) => {
  const { run, root } = await aClient();
  writeFileSync(join(root, "p.json"), '{"v":1}');
  const module = "export const a = 1, b = 3, é = 5; export default 2; const c = 4; export { c as 'c-d' };";
  writeFileSync(join(root, "m.mjs"), module);
  for (const [code, text] of IMPORTS) {
    const { error, results } = await run(code, { language });
    expect([error, results[0]?.text], code).toEqual(["", text]);
  }
});
