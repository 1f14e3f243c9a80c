/** Two projects: unit needs nothing but this checkout, integration needs a local cluster. @module */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/integration/**", "test/clients/**", "test/browser/**"],
          // Some start processes, and a machine that has other work takes its time over that.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/{integration,clients,browser}/**/*.test.ts"],
          globalSetup: ["test/integration/setup.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
