/**
 * `npm run build`: what ships, each bundle from one entry. What is published keeps the packages that its package.json
 * names outside; what goes into an image has all in it but native modules. @module
 */
import { globSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { basename, dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type CodeSplittingOptions, defineConfig, type Plugin, type RolldownOptions } from "rolldown";
import { isolatedDeclarationPlugin } from "rolldown/experimental";
import { esmExternalRequirePlugin } from "rolldown/plugins";

interface Manifest {
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const ROOT = fileURLToPath(new URL(".", import.meta.url));
/** Never part of a bundle: native, read as files, or loaded only where a kubeconfig asks for a plugin. */
const OUTSIDE = [/^@lydell\/node-pty/, /^@xterm\//, /^@kubernetes\/client-node$/];

const COMMON: RolldownOptions = {
  cwd: ROOT,
  platform: "node",
  // Types are the compiler's business, and a bundle of many packages has warnings that are theirs.
  tsconfig: false,
  // Files that code reads by `new URL("…", import.meta.url)` ship next to it.
  experimental: { resolveNewUrlToAsset: true },
};

/** Kernels run as programs of their own, so they are next to the bundle under their own names. */
function kernels(): Plugin {
  const folder = `${ROOT}packages/runtime/contexts/`;
  return {
    name: "kernels",
    generateBundle() {
      for (const fileName of globSync("*.{java,py,r,sh}", { cwd: folder }).sort()) {
        this.emitFile({ type: "asset", fileName, source: readFileSync(folder + fileName) });
      }
    },
  };
}

/** Writes the licences of the packages that have become a part of a bundle: most require this. */
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => file.type === "chunk" ? file.moduleIds : []);
      const folders = new Set(
        modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
      );
      const texts = [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
        const [file] = globSync("{licen[sc]e,LICEN[SC]E}*", { cwd: folder });
        if (file === undefined) throw new Error(`Cannot bundle ${name}: it has no file with its licence`);
        return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
      });
      if (texts.length === 0) return;
      this.emitFile({
        type: "asset",
        fileName: "third-party-licences.txt",
        source: texts.join(`\n${"-".repeat(80)}\n\n`),
      });
    },
  };
}

const KERNEL = { kernel: "packages/runtime/contexts/kernel.mjs" };
const entryFileNames = ({ name }: { name: string }) => name === "kernel" ? "kernel.mjs" : "[name].js";

/** Modules of Node that most commands load. */
const BUILTINS = ["buffer", "events", "fs", "http", "https", "os", "path", "util"];

/**
 * Takes modules of Node as `require` does, and the global `process`. `import` reads all exports of a module first, which
 * runs getters: those of node:process open standard input, those of node:http load undici, those of node:fs its
 * streams. That takes longer than most commands.
 */
function builtins(): Plugin {
  const got = (name: string) => `process.getBuiltinModule("node:${name}")`;
  const named = (name: string) => {
    const all = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(`node:${name}`)));
    const names = all.flatMap(([name, { get }]) => get || name === "default" ? [] : name);
    // A pure call for each name, so that names that nobody uses are left out of the bundle: some look like values here,
    // but are read lazily.
    const lines = names.map((name) => `export const ${name} = /* @__PURE__ */ (() => all.${name})();\n`);
    return `const all = ${got(name)};\n${lines.join("")}export default all;\n`;
  };
  // Commander would start programs next to its own, which hookbox does not have.
  const spawning = `export default { spawn: (...args) => ${got("child_process")}.spawn(...args) };\n`;
  const isTaken = (id: string, importer = "") =>
    id === "node:child_process" ? importer.includes("/node_modules/commander/") : BUILTINS.includes(id.slice(5));
  return {
    name: "builtins",
    resolveId: (id, importer) => id.startsWith("node:") && isTaken(id, importer) ? `\0${id}` : undefined,
    load(id) {
      if (!id.startsWith("\0node:")) return undefined;
      const name = id.slice(6);
      return { code: name === "child_process" ? spawning : named(name), moduleType: "js" };
    },
    transform: {
      filter: { code: "node:process" },
      handler: (code) => code.replace(/^import process from ["']node:process["'];$/m, ""),
    },
  };
}

/**
 * Imports a group of {@link CLI_CHUNKS} itself, instead of the file that rolldown makes for each `import()` of a module
 * in it, which only passes on exports: each file takes a millisecond to load.
 */
function direct(): Plugin {
  const passing = /^import\{([^}]*)\}from"(\.\/[^"]*)";export\{([\w$,]*)\};\s*$/;
  return {
    name: "direct",
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
      for (const { fileName, code } of chunks) {
        const [, imported = "", group, exported = ""] = passing.exec(code) ?? [];
        if (group === undefined) continue;
        const names = new Map(imported.split(",").map((pair) => pair.split(" as ").reverse() as [string, string]));
        const fields = exported.split(",").map((name) => `${name}:group.${names.get(name)}`);
        const importing = `import(\`${group}\`).then(group=>({${fields.join(",")}}))`;
        for (const chunk of chunks) chunk.code = chunk.code.replaceAll(`import(\`./${fileName}\`)`, importing);
        delete bundle[fileName];
      }
    },
  };
}

/** Modules that most commands load, with all that they import, in two files: a file costs as much time as its code. */
const CLI_CHUNKS: CodeSplittingOptions = {
  groups: [
    { name: "start", test: /packages\/cli\/(nodecontext|program)\.ts$/, priority: 2 },
    { name: "cluster", test: /packages\/cli\/(cluster|commands\/get)\.ts$/, priority: 1 },
  ],
};

/**
 * A package that others bundle once more: it must not call `require`, which a bundle in ESM does not have, nor
 * `createRequire(import.meta.url)`, because a bundle in CommonJS has no such URL.
 */
const LIBRARY: RolldownOptions = {
  // Modules of Node that CommonJS packages in it require.
  plugins: esmExternalRequirePlugin({ external: builtinModules.flatMap((name) => [name, `node:${name}`]) }),
  // For `node`, rolldown would import `createRequire` into every file.
  platform: "neutral",
  resolve: { mainFields: ["module", "main"], conditionNames: ["node", "import"] },
  // Without these, ws looks for native packages, which no bundler can find.
  transform: { define: { "process.env.WS_NO_BUFFER_UTIL": "true", "process.env.WS_NO_UTF_8_VALIDATE": "true" } },
};

/** The check of the runtime comes first, in a file of its own: Node prints the line that throws, which is short there. */
const SDK_CHUNKS: CodeSplittingOptions = { groups: [{ name: "oldruntime", test: /sdk\/setup\/oldruntime\.ts$/ }] };

/** A package for npm. */
function published(
  folder: string,
  input: Record<string, string>,
  plugins: Plugin[] = [],
  codeSplitting: CodeSplittingOptions | true = true,
  more: RolldownOptions = {},
): RolldownOptions {
  const manifest: Manifest = JSON.parse(readFileSync(`${ROOT}${folder}/package.json`, "utf8"));
  const names = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  return {
    ...COMMON,
    ...more,
    input,
    external: (id) => names.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [more.plugins, plugins, licences()],
    output: {
      dir: `${folder}/dist`,
      cleanDir: true,
      entryFileNames,
      chunkFileNames: "[name]-[hash].js",
      // Files of one name are numbered as they are found, which is not the same each time.
      assetFileNames: "[name]-[hash][extname]",
      codeSplitting,
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
      sourcemap: true,
    },
  };
}

/** A process or a hook: one file, and what it reads. */
function program(dir: string, input: Record<string, string>, plugins: Plugin[] = []) {
  return {
    ...COMMON,
    input,
    external: OUTSIDE,
    plugins,
    output: {
      dir,
      entryFileNames,
      assetFileNames: "[name][extname]",
      codeSplitting: false,
      minify: true,
    },
  } satisfies RolldownOptions;
}

const HOOKS = globSync("hooks/*/main.ts", { cwd: ROOT }).map((file) => basename(dirname(file))).sort();

/** What runs in a cluster: its folder in the image, and its bundle. */
export const PROCESSES = [
  ...HOOKS.map((hook) => ({ name: "hooks", bundle: program("hooks/dist", { [hook]: `hooks/${hook}/main.ts` }) })),
  ...["keeper", "binder", "router", "egress", "e2b"].map((name) => {
    return { name, bundle: program(`packages/${name}/dist`, { main: `packages/${name}/main.ts` }) };
  }),
];

/** The process inside a sandbox, and the kernel that it starts for code in TypeScript. */
export const RUNTIME = [
  program("packages/runtime/dist", { main: "packages/runtime/main.ts" }, [kernels()]),
  program("packages/runtime/dist", KERNEL),
];

export default defineConfig([
  published("packages/sdk", { mod: "packages/sdk/mod.ts" }, [], SDK_CHUNKS, LIBRARY),
  published("packages/testing", { mod: "packages/testing/mod.ts", ...KERNEL }, [kernels()]),
  published(
    "packages/cli",
    { main: "packages/cli/main.ts", ...KERNEL },
    [kernels(), builtins(), direct()],
    CLI_CHUNKS,
    { resolve: { alias: { yaml: `${ROOT}node_modules/yaml/browser/index.js` } } },
  ),
  // Their frameworks are not installed here, so the compiler cannot write their types.
  ...globSync("packages/integrations/*/package.json", { cwd: ROOT }).map(dirname).sort().map((folder) =>
    published(folder, { mod: `${folder}/mod.ts` }, [isolatedDeclarationPlugin()])
  ),
  ...PROCESSES.map(({ bundle }) => bundle),
  ...RUNTIME,
]);
