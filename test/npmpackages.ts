/** npm packages that only tests use, too large for `npm ci` of this repository: installed once into the cache. @module */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { cacheFolder } from "../dev/cluster/binaries.ts";
import { withLock } from "../dev/cluster/lock.ts";

/**
 * Returns the folder of a project that has these packages, which it installs on the first call on a machine.
 *
 * @param manifest path of a package.json by another name, `tools.json`; its lock file is `tools-lock.json`
 * @throws {Error} if npm fails
 */
export async function npmPackages(manifest: string): Promise<string> {
  const files = { "package.json": manifest, "package-lock.json": manifest.replace(/\.json$/, "-lock.json") };
  const hash = createHash("sha256").update(process.platform + process.arch);
  for (const path of Object.values(files)) hash.update(readFileSync(path));
  const name = basename(manifest, ".json");
  const folder = join(cacheFolder(), `npm-${name}-${hash.digest("hex").slice(0, 16)}`);
  const mark = join(folder, "complete");
  await withLock(`build ${folder}`, async () => {
    if (existsSync(mark)) return;
    process.stdout.write(`tests: installing the npm packages of ${name}.json into the cache (first run only) …\n`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const [file, path] of Object.entries(files)) copyFileSync(path, join(folder, file));
    // No code of theirs runs while they are installed.
    const args = ["ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    await promisify(execFile)("npm", args, { cwd: folder });
    writeFileSync(mark, "");
  });
  return folder;
}
