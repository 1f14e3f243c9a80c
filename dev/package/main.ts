/** `npm run build`: makes dist/, what the npm package consists of, from what tsconfig.build.json names. @module */
import process from "node:process";
import { build } from "./build.ts";

try {
  const { modules, data } = build();
  process.stdout.write(`wrote dist/: ${modules} modules, ${data} files that they read\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
