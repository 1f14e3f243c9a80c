/** Lines of a shell in Python code: `!`, `%` and `%%`. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aClient } from "../rpc/running.ts";

const fine = { stdout: "", stderr: "", error: "" };

test.for(
  [
    ["a line, with values of the code", "n = 3\n!echo {n + 1} $n $HOME_NOT '{print}' {}", {
      stdout: "4 3 {print} {}\n",
    }],
    ["in order with Python's output", "print('a')\n!echo b\nprint('c')", { stdout: "a\nb\nc\n" }],
    ["in a block and a function", "def f(a):\n  if a:\n    !echo {a}\nf('x')", { stdout: "x\n" }],
    ["with errors", "!echo no >&2; exit 4\n_exit_code", { stderr: "no\n", text: "4" }],
    ["its output as a list", "x = !printf 'a\\nb'\nx", { text: "['a', 'b']" }],
    ["quotes that Python would miss", "!echo \"it's\"\n!echo '('", { stdout: "it's\n(\n" }],
    ["several lines", "!echo one \\\n  two\nprint(2)", { stdout: "one two\n2\n" }],
    ["not in a text", "s = '''\n!ls\n%pip\n'''\nlen(s)", { text: "10" }],
    ["not where it is Python", "7 % \\\n 4 != 3", { text: "False" }],
    ["with an await", "import asyncio\nawait asyncio.sleep(0)\n!echo x", { stdout: "x\n" }],
    ["%%bash", "%%bash\nx=5\necho $x {x}\necho e >&2", { stdout: "5 {x}\n", stderr: "e\n" }],
    ["%%bash that fails", "%%bash\nfalse", { error: /CalledProcessError/ }],
    ["%cd and %env", "%env A=b\n%cd /usr\n!echo $A; pwd", { stdout: "/usr\nb\n/usr\n" }],
    ["%time", "%time x = 5\nx", { stdout: /CPU time/, text: "5" }],
    ["%matplotlib inline", "%matplotlib inline\n1", { text: "1" }],
    ["an unknown one", "%nosuch x", { error: /NameError: Cannot run %nosuch: the known ones are %pip/ }],
    ["an error of Python", "!true\nx = = 3", { error: "SyntaxError: invalid syntax (<cell 1>, line 1)" }],
    ["a job in the background", "!sleep 300 & echo started\nprint('on')", { stdout: "started\non\n" }],
  ] as const,
)("%s", async ([, code, { text, ...want }]: readonly [string, string, Record<string, unknown>]) => {
  const { run } = await aClient();
  const ran = await run(code);
  for (const [stream, told] of Object.entries<unknown>({ ...fine, ...want })) {
    if (told instanceof RegExp) expect(ran[stream as keyof typeof fine]).toMatch(told);
    else expect(ran[stream as keyof typeof fine]).toBe(told);
  }
  expect(ran.results.at(-1)?.text || undefined).toBe(text);
});

test("tracebacks count the lines of the code", async () => {
  const { run } = await aClient();
  expect((await run("!echo one \\\n  two\n1 / 0")).traceback).toMatch(/line 3, in <module>\n +1 \/ 0/);
});

test("%%writefile writes a file", async () => {
  const { run, root } = await aClient();
  expect(await run("%%writefile 'a b.txt'\nx = {1}\n")).toMatchObject({ stdout: "Wrote a b.txt\n" });
  await run("%%writefile -a 'a b.txt'\ny\n");
  expect(readFileSync(join(root, "a b.txt"), "utf8")).toBe("x = {1}\ny\n");
});

test("what pip installs can be imported at once, also the first package of a user", async () => {
  const { run, root } = await aClient();
  await run(`import site, zipfile
with zipfile.ZipFile("tiny-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny.py", "x = 7")
    wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
    wheel.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.dist-info/RECORD", "")
site.ENABLE_USER_SITE, site.USER_SITE = True, ${JSON.stringify(join(root, "home"))}`);
  const ran = await run("%pip install --quiet --no-index --target home ./tiny-1-py3-none-any.whl\nimport tiny\ntiny.x");
  expect(ran).toMatchObject({ error: "", results: [{ text: "7" }] });
});
