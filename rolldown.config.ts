/**
 * `npm run build`: what ships, each bundle from one entry. What is published keeps the packages that its package.json
 * names outside; what goes into an image has all in it but native modules. @module
 */
import { globSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type RolldownOptions } from "rolldown";

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
      for (const fileName of globSync("*.py", { cwd: folder }).sort()) {
        this.emitFile({ type: "asset", fileName, source: readFileSync(folder + fileName) });
      }
    },
  };
}

const KERNEL = { kernel: "packages/runtime/contexts/kernel.mjs" };
const entryFileNames = ({ name }: { name: string }) => name === "kernel" ? "kernel.mjs" : "[name].js";

/** A package for npm. */
function published(folder: string, input: Record<string, string>, plugins: Plugin[] = []): RolldownOptions {
  const manifest: Manifest = JSON.parse(readFileSync(`${ROOT}${folder}/package.json`, "utf8"));
  const names = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  return {
    ...COMMON,
    input,
    external: (id) => names.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins,
    output: {
      dir: `${folder}/dist`,
      cleanDir: true,
      entryFileNames,
      chunkFileNames: "[name]-[hash].js",
      // Files of one name are numbered as they are found, which is not the same each time.
      assetFileNames: "[name]-[hash][extname]",
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
  published("packages/cli", { main: "packages/cli/main.ts", ...KERNEL }, [kernels()]),
  ...PROCESSES.map(({ bundle }) => bundle),
  ...RUNTIME,
]);
