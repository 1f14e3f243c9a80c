/** Which package may import what: what its package.json names, and some rules that no package.json can state. @module */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

const ROOT = new URL("../", import.meta.url).pathname;
const IMPORT = /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^"';]*?from\s+)?"([^"]+)"|import\("([^"]+)"\)/g;

interface Import {
  /** A path from the root of the repository, `node:` something, or a package with what stands behind its name. */
  specifier: string;
  typeOnly: boolean;
  isDynamic: boolean;
}

interface Manifest {
  name: string;
  private?: boolean;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const FOLDERS = globSync(["hooks/package.json", "packages/*/package.json", "dev/package.json"], { cwd: ROOT }).map(
  dirname,
)
  .sort();
const MANIFESTS = new Map(FOLDERS.map((folder) => {
  const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"));
  return [folder, manifest] as const;
}));
const NAMES = new Map([...MANIFESTS].map(([folder, { name }]) => [folder, name]));

const FILES = FOLDERS.flatMap((folder) =>
  globSync(`${folder}/**/*.{ts,tsx}`, { cwd: ROOT, exclude: ["**/dist/**", "**/node_modules/**"] })
).sort();
const PRODUCT = FILES.filter((file) => !file.startsWith("dev/"));

function imports(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(IMPORT)].map(([, type, from, dynamic]) => {
    const specifier = from ?? dynamic ?? "";
    const resolved = specifier.startsWith(".") ? normalize(join(dirname(file), specifier)) : specifier;
    return { specifier: resolved, typeOnly: type !== undefined, isDynamic: dynamic !== undefined };
  });
}

/** The package that a file of ours belongs to: its folder. */
function folderOf(file: string): string {
  return /^packages\/[^/]+/.exec(file)?.[0] ?? file.split("/")[0] ?? "";
}

/** What an import needs in package.json: a package's name; undefined: nothing. */
function needOf(file: string, { specifier }: Import): string | undefined {
  // Imports in templates of code are not imports of this package.
  if (/^node:|\$\{/.test(specifier)) return undefined;
  if (specifier === join(folderOf(file), "package.json")) return undefined;
  if (!/\.tsx?$/.test(specifier) || specifier.startsWith("@")) return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
  const folder = folderOf(specifier);
  // The configuration of tools, at the root.
  if (folder === specifier) return undefined;
  return folder === folderOf(file) ? undefined : NAMES.get(folder) ?? folder;
}

test("every package imports only what its package.json names, for types what is for development, too", () => {
  const wrong = FILES.flatMap((file) => {
    const manifest = MANIFESTS.get(folderOf(file));
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = manifest ?? {};
    const named = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    const types = [...named, ...Object.keys(devDependencies ?? {})];
    // What is published is bundled: what it names for development becomes a part of it.
    const values = manifest?.private ? named : types;
    return imports(file).flatMap((found) => {
      const need = needOf(file, found);
      const isAllowed = need === undefined || (found.typeOnly ? types : values).includes(need);
      return isAllowed ? [] : [`${file} needs ${need}`];
    });
  });
  expect(FILES.length).toBeGreaterThan(600);
  expect(wrong).toEqual([]);
});

test("no package.json names a package of ours in vain", () => {
  const unused = FOLDERS.flatMap((folder) => {
    const needs = new Set(
      FILES.filter((file) => folderOf(file) === folder).flatMap((file) =>
        imports(file).map((one) => needOf(file, one))
      ),
    );
    const { dependencies, devDependencies } = MANIFESTS.get(folder) ?? {};
    const named = Object.keys({ ...dependencies, ...devDependencies }).filter((name) =>
      [...NAMES.values()].includes(name)
    );
    return named.filter((name) => !needs.has(name)).map((name) => `${folder} does not need ${name}`);
  });
  expect(unused).toEqual([]);
});

test("what is published names the packages that all of it needs, its own parts included", () => {
  const missing = [...MANIFESTS].filter(([, { private: isPrivate }]) => !isPrivate).flatMap(([folder, manifest]) => {
    const { dependencies, devDependencies, peerDependencies } = manifest;
    const named = Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies });
    const entry = `${folder}/${folder === "packages/cli" ? "main" : "mod"}.ts`;
    const needs = [...reachable(entry)].flatMap((file) =>
      imports(file).filter(({ typeOnly }) => !typeOnly).flatMap((one) => needOf(file, one) ?? [])
        .filter((need) => ![...NAMES.values()].includes(need))
    );
    return [...new Set(needs)].filter((need) => !named.includes(need)).map((need) => `${manifest.name} needs ${need}`);
  });
  expect(missing).toEqual([]);
});

/** All files that an entry loads, sooner or later. */
function reachable(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { specifier, typeOnly } of imports(file)) {
    if (!typeOnly && /\.tsx?$/.test(specifier) && !specifier.startsWith("@")) reachable(specifier, seen);
  }
  return seen;
}

/** Where Node's own modules may be imported, in packages that are else pure or run in a browser, too. */
const NODE_AT = [
  /^packages\/webhook\/recording\.ts$/,
  /^packages\/sdk\/(disk\/.*|setup\/cluster|transport\/(channels|exec|forward))\.ts$/,
];

test("kinds, hooks and their protocol are pure, and the SDK runs in a browser but for what asks for Node", () => {
  const pure = PRODUCT.filter((file) => /^(hooks|packages\/(api|webhook|sdk|runtime-api))\//.test(file));
  const wrong = pure.filter((file) => !NODE_AT.some((pattern) => pattern.test(file))).flatMap((file) =>
    imports(file).filter(({ specifier }) => specifier.startsWith("node:")).map(({ specifier }) =>
      `${file} imports ${specifier}`
    )
  );
  expect(wrong).toEqual([]);
});

test("no hook imports another one, and the table of their options imports none", () => {
  const hookOf = (file: string) => /^hooks\/([^/]+)\//.exec(file)?.[1];
  const isForeign = (file: string, specifier: string) =>
    specifier.startsWith("hooks/") && specifier !== "hooks/flags.ts" && hookOf(specifier) !== hookOf(file);
  const wrong = PRODUCT.filter((file) => hookOf(file) || file === "hooks/flags.ts").flatMap((file) =>
    imports(file).filter(({ specifier }) => isForeign(file, specifier)).map(({ specifier }) =>
      `${file} imports ${specifier}`
    )
  );
  expect(wrong).toEqual([]);
});

test("no file of a hook, the binder or the keeper imports itself by way of others, not even for a type", () => {
  const files = FILES.filter((file) => /^(hooks|packages\/(binder|keeper))\//.test(file));
  const importsOf = new Map(files.map((file) => [file, imports(file).map(({ specifier }) => specifier)]));
  const behind = (file: string, seen = new Set<string>()): Set<string> => {
    for (const next of importsOf.get(file) ?? []) if (!seen.has(next)) behind(next, seen.add(next));
    return seen;
  };
  expect(files.filter((file) => behind(file).has(file))).toEqual([]);
});

test("client-node costs 60 MiB: it is loaded where a kubeconfig needs it, and nowhere else", () => {
  const loading = PRODUCT.filter((file) =>
    imports(file).some(({ specifier, typeOnly }) => !typeOnly && specifier === "@kubernetes/client-node")
  );
  expect(loading).toEqual(["packages/kube/credentials.ts"]);
});

test("only the edge names Deno or process", () => {
  const naming = PRODUCT.filter((file) =>
    /\b(Deno\.\w|globalThis\.process)/.test(readFileSync(join(ROOT, file), "utf8"))
  );
  expect(naming.filter((file) => !/^packages\/(cli|keeper|kube|router|runtime)\//.test(file))).toEqual([
    "packages/process/clock.ts",
    "packages/process/runprocess.ts",
  ]);
});

test("random tests begin with the seed of the run", () => {
  const tests = globSync("test/**/*.ts", { cwd: ROOT });
  const own = tests.filter((file) => imports(file).some(({ specifier }) => specifier === "fast-check"));
  expect(own).toEqual(["test/properties.ts"]);
});

test("no file of ours is over 400 lines", () => {
  const all = [...FILES, ...globSync(["test/**/*.ts", "*.ts"], { cwd: ROOT })].filter((file) =>
    !file.startsWith("packages/runtime-api/gen/")
  );
  const long = all.filter((file) => readFileSync(join(ROOT, file), "utf8").split("\n").length - 1 > 400);
  expect(long).toEqual([]);
});

/** Packages that a browser can load, too. */
const ANYWHERE = /^(zod|@bufbuild\/protobuf(\/\w+)?|@connectrpc\/connect(-web)?|@opentelemetry\/api)$/;

/** What is loaded with a file: packages and built-in modules, each with the files that lead to it. */
function loadedWith(file: string, way: string[] = [], seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const loaded = imports(file).filter(({ typeOnly, isDynamic }) => !typeOnly && !isDynamic);
  return loaded.flatMap(({ specifier }) => {
    if (/\.tsx?$/.test(specifier)) return loadedWith(specifier, [...way, file], seen);
    return ANYWHERE.test(specifier) ? [] : [[...way, file, specifier].join(" > ")];
  });
}

test("what a browser may load of the SDK loads nothing that only Node has", () => {
  const sdk = "packages/sdk";
  const roots = globSync(
    [`${sdk}/mod.ts`, `${sdk}/{files,code,runtime}/*.ts`, `${sdk}/transport/{transport,direct,router}.ts`],
    { cwd: ROOT },
  );
  expect(roots.length).toBeGreaterThan(15);
  expect(roots.flatMap((file) => loadedWith(file))).toEqual([]);
});
