/** Which files built code names by a path relative to itself, and does not find. Reads only. @module */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const RELATIVE = /new URL\(\s*"([^"]+)",\s*import\.meta\.url\s*,?\s*\)/g;

/** Lists them as "module: file", sorted. What is computed from several parts is not seen. */
export function missingFiles(folder: string): string[] {
  const modules = globSync("**/*.d.ts", { cwd: folder }).map((file) => file.replace(/\.d\.ts$/, ".js")).sort();
  return modules.flatMap((module) => {
    const text = readFileSync(join(folder, module), "utf8");
    const named = [...text.matchAll(RELATIVE)].map(([, file = ""]) => file);
    return named.filter((file) => !existsSync(join(folder, dirname(module), file))).map((file) => `${module}: ${file}`);
  });
}
