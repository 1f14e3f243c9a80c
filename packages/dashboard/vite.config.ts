/** Builds the dashboard into dist/, for the router to serve. @module */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Relative, as the router may be reached below another path.
  base: "./",
  // Without the machine's paths, whatever NODE_ENV says: the published files are the same wherever they are built.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
  // Otherwise the build warns about each Node module that the SDK uses in Node only.
  logLevel: "error",
  build: {
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // Never loaded by a browser: the SDK uses it for a kubeconfig with plugins.
    rolldownOptions: {
      external: ["@kubernetes/client-node"],
      // In the same chunk as zod, so that zod is configured before any schema is made.
      output: { codeSplitting: { groups: [{ name: "zod", test: /node_modules\/zod\/|dashboard\/policy\.ts/ }] } },
    },
  },
});
