/** E2B's published clients by host names, with TLS and HTTP/2: every method, through the router. Needs no cluster. @module */
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { ranProgram } from "../ranprogram.ts";
import { INTERPRETED } from "./interpreted.ts";
import { E2B, pythonWith } from "./python.ts";
import { startTLSWorld, type TLSWorld } from "./tlsworld.ts";

const say = (line: string) => process.stdout.write(`clients: ${line}\n`);
const programOf = (name: string) => fileURLToPath(new URL(`programs/${name}`, import.meta.url));

/** The options of a client, under the names that Python's have. */
const optionsOf = ({ domain, apiKey, proxy }: TLSWorld) => ({ domain, api_key: apiKey, proxy, timeout: 3600 });

/** The versions of HTTP of the requests for a port. */
const versionsOf = ({ seen }: TLSWorld, path: RegExp) =>
  [...new Set(seen.filter((one) => path.test(`${one.port}${one.path}`)).map(({ version }) => version))].sort();

test.for(["sync", "async"])("the %s client of Python", async (kind) => {
  const python = await pythonWith(E2B, say);
  const world = await startTLSWorld();
  const args = [programOf(`e2b_${kind}.py`), JSON.stringify(optionsOf(world))];
  expect(await ranProgram(python, args, { env: { ...world.env, HOME: world.home } })).toBe("done\n");
  expect(versionsOf(world, /^49983\/process/)).toEqual(["2.0"]);
  expect(versionsOf(world, /^49983\/filesystem/)).toEqual(["2.0"]);
});

test.for(["sync", "async"])("the %s code interpreter of Python", async (kind) => {
  const python = await pythonWith(E2B, say);
  const before = process.env["PATH"];
  process.env["PATH"] = `${dirname(python)}:${before}`;
  onTestFinished(() => void (process.env["PATH"] = before));
  const world = await startTLSWorld();
  const args = [programOf("codeinterpreter.py"), kind, world.home, JSON.stringify(optionsOf(world))];
  expect(JSON.parse(await ranProgram(python, args, { env: world.env }))).toEqual(INTERPRETED);
  // This client never uses HTTP/2 for code.
  expect(versionsOf(world, /^49999/)).toEqual(["1.1"]);
});

test("the client of JavaScript", async () => {
  const world = await startTLSWorld();
  const { domain, apiKey, apiUrl, port } = world;
  // Through a proxy, this client uses HTTP/1.1.
  const given = { domain: `${domain}:${port}`, apiKey, apiUrl, timeoutMs: 3_600_000 };
  const preload = new URL("programs/loopback.mjs", import.meta.url).href;
  const args = [
    ...["--import", preload, programOf("e2b.mjs")],
    ...[fileURLToPath(import.meta.resolve("e2b")), JSON.stringify(given)],
  ];
  expect(await ranProgram(process.execPath, args, { env: { ...world.env, HOME: world.home } })).toBe("done\n");
  expect(versionsOf(world, /^49983\/(process|filesystem|files)/)).toEqual(["2.0"]);
});
