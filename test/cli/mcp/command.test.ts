/** `hookbox mcp` on the command line: what it refuses. @module */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../fakecontext.ts";
import { makeTempFolder } from "../../tempfolder.ts";

test.for<[string, string]>([
  ["--http 127.0.0.1:0", "Cannot listen without tokens: use --token-file"],
  [
    "--http 0.0.0.0:0 --allow-anonymous",
    "Cannot allow anonymous access from other machines: use --token-file, or listen on loopback",
  ],
  [
    "--http [::]:0 --allow-anonymous",
    "Cannot allow anonymous access from other machines: use --token-file, or listen on loopback",
  ],
  [
    "--http 127.0.0.1:0 --allow-anonymous --token-file x",
    "Cannot use --token-file and --allow-anonymous together",
  ],
  ["--http example:http", 'Cannot listen on "example:http": it is not HOST:PORT'],
  ["--http 127.0.0.1:65536", 'Cannot listen on "127.0.0.1:65536": it is not HOST:PORT'],
  [
    "--http 127.0.0.1:0 --allow-anonymous --local-root .",
    "Cannot use --local-root with --http: clients could read files of this machine",
  ],
  ["--token-file x", "Cannot use --token-file without --http"],
  ["--session-idle 5m", "Cannot use --session-idle without --http"],
  ["--local-root /nowhere", 'Cannot use --local-root "/nowhere": it is not a folder'],
  ["--selector team!=a", 'Cannot use --selector "team!=a": only KEY=VALUE selects, and all must match'],
  ["--selector team", 'Cannot use --selector "team": it is not KEY=VALUE'],
  ["--max-sandboxes 0", 'Cannot use --max-sandboxes "0": use a whole number of at least 1'],
  ["--lifetime soon", 'Cannot use --lifetime "soon": use a length of time such as 30s, 5m, 1h30m or 2d'],
])("hookbox mcp %s is refused", async ([line, message]) => {
  expect(await run(`mcp ${line}`)).toEqual({ code: 2, stdout: "", stderr: `${message}\n` });
});

test.for<[string, RegExp]>([
  ["", /^Cannot use the tokens in .*: there are none\n$/],
  ["hunter2\n", /^Cannot use the tokens in .*: one is shorter than 16 characters\n$/],
])("a token file with %j is refused", async ([content, message]) => {
  const file = join(makeTempFolder(), "tokens");
  await writeFile(file, content);
  const { code, stderr } = await run(["mcp", "--http", "127.0.0.1:0", "--token-file", file]);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

test("a token file that is not there is refused", async () => {
  const { code, stderr } = await run(["mcp", "--http", "127.0.0.1:0", "--token-file", "/nowhere/tokens"]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Cannot read \/nowhere\/tokens: there is no such file\n/)]);
});
