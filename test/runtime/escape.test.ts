/** Nothing gets out of the root: every hostile path through every surface, on real sockets and real folders. @module */
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Runtime } from "../../packages/runtime/start.ts";
import { makeInside, makeOutside, PATHS, RAW } from "./escapes.ts";
import { escapesOf, rawEscapesOf, type Sender, surfacesOf } from "./escapeways.ts";
import { send, startTestRuntime } from "./servers.ts";

let around: string;
let runtime: Runtime;

beforeAll(async () => {
  around = join(realpathSync(mkdtempSync(join(tmpdir(), "escape-"))), "around");
  makeInside(around);
  makeOutside(around);
  runtime = await startTestRuntime(join(around, "root"));
});

afterAll(async () => {
  await runtime.stop();
  rmSync(join(around, ".."), { recursive: true });
  expect(existsSync("/etc/hookbox-planted")).toBe(false);
  expect(existsSync("/tmp/hookbox-planted")).toBe(false);
});

const rest: Sender = (method, path, sent) => send(runtime.restPort, method, path, sent);
const legacy: Sender = (method, path, sent) => send(runtime.port, method, path, sent);

test("the corpus is no smaller than it was", () => {
  expect(new Set(PATHS.map(([path]) => path)).size).toBeGreaterThanOrEqual(100);
  expect(new Set(RAW).size).toBeGreaterThanOrEqual(35);
});

test.for(PATHS)("%j gets nowhere", async (path) => {
  expect(await escapesOf(around, surfacesOf(rest, legacy), path)).toEqual([]);
});

test.for(RAW)("/%s gets nowhere as it stands", async (raw) => {
  expect(await rawEscapesOf(around, rest, legacy, raw)).toEqual([]);
});
