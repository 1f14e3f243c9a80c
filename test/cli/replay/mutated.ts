/** Copies of this checkout's hooks with one thing changed. @module */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mutated } from "../../mutants/mutant.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** What to change: `from` stands once in the file. */
export interface Mutation {
  hook: string;
  /** Below the hook's folder. */
  file: string;
  from: string;
  to: string;
  /** What has to change with it. */
  also?: Pick<Mutation, "file" | "from" | "to">;
}

/** Returns the path of the changed hook's `hook.ts`; the copy goes with the test. */
export function mutatedHook({ hook, also, ...mutation }: Mutation): string {
  const copy = makeTempFolder();
  for (const folder of ["packages/api", "packages/process", "packages/webhook", "hooks"]) {
    cpSync(join(ROOT, folder), join(copy, folder), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  writeFileSync(join(copy, "package.json"), '{ "type": "module" }');
  for (const change of also ? [mutation, also] : [mutation]) {
    const path = join(copy, "hooks", hook, change.file);
    writeFileSync(path, mutated(readFileSync(path, "utf8"), change));
  }
  return join(copy, "hooks", hook, "hook.ts");
}
