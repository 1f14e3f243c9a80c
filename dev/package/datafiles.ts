/** Which files that are no modules ship: what code reads at run time. Reads folders, writes nothing. @module */
import { globSync } from "node:fs";

/** Each is read by a path relative to the code that reads it, or to the root of the checkout. */
const DATA = [
  "{crds,compositecontrollers,decoratorcontrollers}/*.yaml",
  "deploy/{keeper,binder,router}/rbac.yaml",
  "packages/router/terminal/page/*",
  "packages/runtime/contexts/*.{mjs,py}",
];

/** Lists them, sorted, relative to the root of a checkout. @throws {Error} if a pattern finds nothing */
export function dataFiles(root: string): string[] {
  return DATA.flatMap((pattern) => {
    const found = globSync(pattern, { cwd: root });
    if (found.length === 0) throw new Error(`Cannot ship ${pattern}: there is no such file`);
    return found;
  }).sort();
}
