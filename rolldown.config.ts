/**
 * `npm run build`: what ships, each bundle from one entry. What is published keeps the packages that its package.json
 * names outside; what goes into an image has all in it but native modules. @module
 */
import fs, { globSync, readFileSync } from "node:fs";
import http from "node:http";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type CodeSplittingOptions, defineConfig, type Plugin, type RolldownOptions } from "rolldown";

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
      for (const fileName of globSync("*.{py,sh}", { cwd: folder }).sort()) {
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

/**
 * Takes two modules of Node as `require` does. `import` reads all exports of a module first, which runs getters: those of
 * node:http load undici, those of node:fs its streams. That takes longer than most commands.
 */
function builtins(): Plugin {
  const modules = { fs, http };
  const nameOf = (id: string) => /^(?:\0)?node:(fs|http)$/.exec(id)?.[1] as keyof typeof modules | undefined;
  return {
    name: "builtins",
    resolveId: (id) => nameOf(id) ? `\0${id}` : undefined,
    load(id) {
      const name = nameOf(id);
      if (!name) return undefined;
      const all = Object.entries(Object.getOwnPropertyDescriptors(modules[name]));
      const names = all.flatMap(([name, { get }]) => get || name === "default" ? [] : name);
      const got = `import process from "node:process";\nconst all = process.getBuiltinModule("node:${name}");\n`;
      return { code: `${got}export const { ${names.join(", ")} } = all;\nexport default all;\n`, moduleType: "js" };
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

/** A package for npm. */
function published(
  folder: string,
  input: Record<string, string>,
  plugins: Plugin[] = [],
  codeSplitting: CodeSplittingOptions | true = true,
): RolldownOptions {
  const manifest: Manifest = JSON.parse(readFileSync(`${ROOT}${folder}/package.json`, "utf8"));
  const names = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  return {
    ...COMMON,
    input,
    external: (id) => names.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [...plugins, licences()],
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
  ...["keeper", "binder", "router"].map((name) => {
    return { name, bundle: program(`packages/${name}/dist`, { main: `packages/${name}/main.ts` }) };
  }),
];

/** The process inside a sandbox, and the kernel that it starts for code in TypeScript. */
export const RUNTIME = [
  program("packages/runtime/dist", { main: "packages/runtime/main.ts" }, [kernels()]),
  program("packages/runtime/dist", KERNEL),
];

export default defineConfig([
  published("packages/sdk", { mod: "packages/sdk/mod.ts" }),
  published("packages/testing", { mod: "packages/testing/mod.ts", ...KERNEL }, [kernels()]),
  published(
    "packages/cli",
    { main: "packages/cli/main.ts", ...KERNEL },
    [kernels(), builtins()],
    CLI_CHUNKS,
  ),
  ...PROCESSES.map(({ bundle }) => bundle),
  ...RUNTIME,
]);
