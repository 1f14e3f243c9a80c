/**
 * The paths of the published client, and of deepagents' backends, mean on hookbox's runtime what they mean to `cat` in a
 * command. Needs no cluster.
 * @module
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { aWorld, catOf, pathOf, PATHS, quoted, type World } from "../wiring/pathsworld.ts";
import { needsClient } from "./program.ts";
import { CLIENT, DEEPAGENTS, type Packages, pythonWith } from "./python.ts";

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
  const { restPort: rest, grpcPort: grpc } = runtime;
  const options = JSON.stringify({ url, rest, grpc, way, write, paths: words, workdir, home });
  const stdout = await new Promise<string>((resolve, reject) =>
    execFile(python, [PROGRAM, "default", options], (error, out) => error ? reject(error) : resolve(out))
  );
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Fact);
}

interface Way {
  name: string;
  packages: Packages;
  /** Paths that the client itself shortens or refuses. */
  changed: RegExp;
  /** What takes absolute paths alone. @default "nothing" */
  absolute?: "write" | "all";
}

const WAYS: Way[] = [
  // The HTTP library of the client shortens `/download/..`.
  { name: "8888", packages: CLIENT, changed: /\.\.|\/$|^\.$|^\.\/~$/ },
  { name: "8888 with unsafe paths", packages: CLIENT, changed: /^\.\.$/ },
  { name: "8080 with unsafe paths", packages: CLIENT, changed: /^$/ },
  // Both take `~` for a name. The first lists what it cannot follow as an empty folder.
  { name: "KubernetesSandbox", packages: DEEPAGENTS, changed: /^~|^loop$/, absolute: "write" },
  // It shortens all paths, and refuses those outside its root. Below that, a file named `~` has the path of the home.
  {
    name: "SandboxdBackend",
    packages: DEEPAGENTS,
    changed: /^~|^loop$|\.\.|^\.\/~$|^a\.txt\/$|^\/|^OUTSIDE/,
    absolute: "all",
  },
];

test.for(WAYS)("$name finds and writes what cat reads", async ({ name: way, packages, changed, absolute }) => {
  // Before the world has another home, in which there is no cache.
  const python = await pythonWith(packages, () => {});
  const world = await aWorld();
  const paths = PATHS.filter((path) => !changed.test(path)).map((template) => pathOf(template, world));
  const whole = paths.map((path) => path.startsWith("/") ? path : `${world.workdir}/${path}`);
  const read = absolute === "all" ? whole : paths;
  for (const { path, fact, exists } of await ask(world, { python, way, write: false, paths: read })) {
    const wanted = await catOf(path, world);
    expect([path, fact]).toEqual([path, wanted]);
    if (!["broken", "loop"].includes(path)) expect([path, exists]).toEqual([path, wanted !== "missing"]);
  }
  const writable = (absolute === undefined ? paths : whole).filter((path) =>
    !/^\/(etc|proc|$)|(^|\/)(link|broken|loop)/.test(path)
  );
  for (const { path, fact, exists, before, after } of await ask(world, { python, way, write: true, paths: writable })) {
    expect([path, after]).toEqual([path, fact ? `new ${path}` : before]);
    if (after !== null) expect([path, exists]).toEqual([path, true]);
  }
});
