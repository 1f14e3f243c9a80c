/** Builds the dashboard into dist/, for the router to serve. @module */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // The router may be reached under another path.
  base: "./",
  // Never with paths of the machine, whatever NODE_ENV says: what is published is the same wherever it is built.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
  // It tells of each module of Node that the SDK has for Node alone.
  logLevel: "error",
  build: {
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // What no browser asks for: the SDK loads it for a kubeconfig with plugins.
    rolldownOptions: {
      external: ["@kubernetes/client-node"],
      // With zod, so that it has been told before anything makes a schema.
      output: { codeSplitting: { groups: [{ name: "zod", test: /node_modules\/zod\/|dashboard\/policy\.ts/ }] } },
    },
  },
});
