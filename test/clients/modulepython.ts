/** A Python that comes as a Go module, for machines whose own Python is too old. @module */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { gunzipSync } from "node:zlib";
import { cacheFolder } from "../../dev/cluster/binaries.ts";
import { withLock } from "../../dev/cluster/lock.ts";
import { moduleFolder } from "../../dev/cluster/modules.ts";

/** Python 3.14.6 with pip, as python-build-standalone makes it, for Linux and macOS. */
const MODULE = "github.com/kluctl/go-embed-python@v0.0.0-3.14.6-20260610-1";
/** Its folder in the cache. */
export const MODULE_FOLDER = MODULE.replace(/^.*\//, "").replace("@", "-");
const SITE_PACKAGES = "lib/python3.14/site-packages";
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: "amd64", arm64: "arm64" };

/** A file in the module. `perm` has the bits of Go's `fs.FileMode`. */
interface PackedFile {
  name: string;
  perm: number;
  compressed?: boolean;
  symlink?: string;
}

/**
 * Unpacks the module into the cache, once.
 *
 * @returns path of the program
 * @throws {Error} if Go cannot download the module, or it has no Python for this machine
 */
export async function modulePython(progress: (line: string) => void): Promise<string> {
  const folder = join(cacheFolder(), MODULE_FOLDER);
  const mark = join(folder, "complete");
  if (!existsSync(mark)) {
    await withLock(`build ${folder}`, async () => {
      if (existsSync(mark)) return;
      progress(`unpacking Python from the Go module ${MODULE} into the cache (first run only) …`);
      const module = await moduleFolder(MODULE);
      rmSync(folder, { recursive: true, force: true });
      unpack(join(module, "python/internal/data", `${process.platform}-${ARCHITECTURES[process.arch]}`), folder);
      unpack(join(module, "pip/internal/data"), join(folder, SITE_PACKAGES));
      writeFileSync(mark, "");
    });
  }
  return join(folder, "bin/python3");
}

function unpack(from: string, to: string): void {
  const { files }: { files: PackedFile[] } = JSON.parse(readFileSync(join(from, "files.json"), "utf8"));
  mkdirSync(to, { recursive: true });
  for (const { name, perm, compressed, symlink } of files) {
    const path = join(to, name);
    // Go's bit of a folder.
    if (perm >= 2 ** 31) mkdirSync(path, { recursive: true });
    else if (symlink !== undefined) symlinkSync(symlink, path);
    else {
      const content = readFileSync(join(from, compressed ? `${name}.gz` : name));
      writeFileSync(path, compressed ? gunzipSync(content) : content);
      chmodSync(path, perm & 0o777);
    }
  }
}
