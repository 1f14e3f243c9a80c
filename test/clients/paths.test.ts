/** The published client's paths on hookbox's runtime mean what they mean to `cat` in a command. Needs no cluster. @module */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { aWorld, catOf, pathOf, PATHS, quoted, type World } from "../wiring/pathsworld.ts";
import { needsClient } from "./program.ts";
import { clientPython } from "./python.ts";

needsClient();

const PROGRAM = fileURLToPath(new URL("programs/paths.py", import.meta.url));

interface Fact {
  path: string;
  /** What was found there, or whether it was written. */
  fact: string | boolean;
  exists: boolean | null;
  /** What a command reads there before and after it was written. */
  before?: string | null;
  after?: string | null;
}

interface Asked {
  python: string;
  way: string;
  write: boolean;
  paths: string[];
}

async function ask({ runtime, workdir, home }: World, { python, way, write, paths }: Asked): Promise<Fact[]> {
  const words = paths.map((path) => [path, quoted(path)]);
  const url = `http://127.0.0.1:${runtime.port}`;
  const options = JSON.stringify({ url, rest: runtime.restPort, way, write, paths: words, workdir, home });
  const stdout = await new Promise<string>((resolve, reject) =>
    execFile(python, [PROGRAM, "default", options], (error, out) => error ? reject(error) : resolve(out))
  );
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Fact);
}

/** The client itself shortens these paths, or refuses them. Its HTTP library shortens `/download/..`. */
const CHANGED: Record<string, RegExp> = {
  "8888": /\.\.|\/$|^\.$|^\.\/~$/,
  "8888 with unsafe paths": /^\.\.$/,
  "8080 with unsafe paths": /^$/,
};

test.for(Object.entries(CHANGED))("the client finds and writes by port %s what cat reads", async ([way, changed]) => {
  // Before the world has another home, in which there is no cache.
  const python = await clientPython(() => {});
  const world = await aWorld();
  const paths = PATHS.filter((path) => !changed.test(path)).map((template) => pathOf(template, world));
  for (const { path, fact, exists } of await ask(world, { python, way, write: false, paths })) {
    const wanted = await catOf(path, world);
    expect([path, fact]).toEqual([path, wanted]);
    if (!["broken", "loop"].includes(path)) expect([path, exists]).toEqual([path, wanted !== "missing"]);
  }
  const writable = paths.filter((path) => !/^\/(etc|proc|$)|^(link|broken|loop)/.test(path));
  for (const { path, fact, exists, before, after } of await ask(world, { python, way, write: true, paths: writable })) {
    expect([path, after]).toEqual([path, fact ? `new ${path}` : before]);
    if (after !== null) expect([path, exists]).toEqual([path, true]);
  }
});
