/** Errors and values that fail again when they are shown: the run ends, says what it can, and leaves the interpreter. @module */
import { expect, test } from "vitest";
import { aClient } from "./running.ts";

/** Ends what hangs. */
const LONG_MS = 60_000n;
const MESSAGE = { error: "E: <exception str() failed>" };

const PYTHON = [
  {
    name: "its __str__ fails",
    code: "class E(Exception):\n  def __str__(self): raise ValueError(1)\nraise E",
    want: MESSAGE,
  },
  { name: "its __str__ exits", code: "class E(Exception):\n  def __str__(self): exit()\nraise E", want: MESSAGE },
  {
    name: "its __str__ gives no text",
    code: "class E(Exception):\n  def __str__(self): return 5\nraise E",
    want: MESSAGE,
  },
  {
    name: "its class has no name to show",
    code: "class M(type):\n  __name__ = property(lambda c: 1 / 0)\nclass E(Exception, metaclass=M): pass\nraise E('m')",
    want: { error: "E: m" },
  },
  {
    name: "thousands of errors led to it",
    code: "last = None\nfor i in range(3000):\n  e = ValueError(i); e.__context__ = last; last = e\nraise last",
    want: { error: "ValueError: 2999" },
  },
  {
    name: "json.dumps is another",
    code: "import json; json.dumps = json.loads = None; 1 / 0",
    want: { error: "ZeroDivisionError: division by zero" },
  },
];

const JAVASCRIPT = [
  { name: "its message throws", code: "throw { get message() { throw 1 } }", want: {} },
  {
    name: "its stack throws",
    code: "throw Object.defineProperty(new Error('m'), 'stack', { get() { throw 1 } })",
    want: {},
  },
  { name: "its name is no text", code: "throw Object.assign(new Error('m'), { name: Object.create(null) })", want: {} },
  { name: "all of it throws", code: "throw new Proxy({}, { get() { throw 1 } })", want: {} },
  {
    name: "it cannot be inspected",
    code: "throw { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }",
    want: { error: "Error: <a value that cannot be shown>" },
  },
  {
    name: "JSON.stringify is another",
    code: "JSON.stringify = () => { throw 1 }; throw new Error('m')",
    want: { error: "Error: m" },
  },
];

test.for([
  ...PYTHON.map((one) => ({ language: "python", ...one })),
  ...JAVASCRIPT.map((one) => ({ language: "javascript", ...one })),
])("$language: an error, where $name", async ({ language, code, want }) => {
  const { run } = await aClient();
  await run("kept = 5", { language });
  const ran = await run(code, { language, timeoutMs: LONG_MS });
  expect(ran).toMatchObject({ error: expect.stringMatching(/^\w+: /), results: [], ...want });
  expect(ran.error).not.toMatch(/KernelDied/);
  expect(await run("kept", { language })).toMatchObject({ error: "", stderr: "", results: [{ text: "5" }] });
});

test.for([
  { name: "has a BigInt", form: "{ a: 1n }" },
  { name: "contains itself", form: "(() => { const o = {}; o.o = o; return o })()" },
  { name: "throws", form: "{ toJSON() { throw new Error('m') } }" },
])("JavaScript: a form that $name is left out, and the run ends", async ({ form }) => {
  const { run } = await aClient();
  const language = "javascript";
  const value = `({ [Symbol.for("Jupyter.display")]: () => ({ "application/json": ${form} }) })`;
  const { error, results, stderr } = await run(value, { language, timeoutMs: LONG_MS });
  expect([error, results.map(({ json }) => json)]).toEqual(["", [undefined]]);
  expect(stderr).toMatch(/^Cannot display a value: /);
  expect(await run(`display(${value}); 6`, { language })).toMatchObject({ error: "", results: [{}, { text: "6" }] });
});

test("JavaScript: a promise that fails with what cannot be shown leaves the interpreter", async () => {
  const { run } = await aClient();
  const language = "javascript";
  const code =
    "kept = 5; Promise.reject({ [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }); await new Promise((r) => setTimeout(r, 1))";
  expect(await run(code, { language })).toMatchObject({
    error: "",
    stderr: "Uncaught <a value that cannot be shown>\n",
  });
  expect(await run("kept", { language })).toMatchObject({ error: "", results: [{ text: "5" }] });
});

test("Python: code that closes its output as programs do leaves it to the next code", async () => {
  const { run } = await aClient();
  await run("import sys; sys.stdout.close(); sys.stderr.close()");
  expect(await run("print('a', flush=True); print('b', file=sys.stderr, flush=True)")).toMatchObject({
    ...{ error: "", stdout: "a\n", stderr: "b\n" },
  });
});
