/** Finds the files of Go modules, such as YAML with CRDs. @module */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import process from "node:process";
import { promisify } from "node:util";

/**
 * Downloads a module into Go's cache, if it is not there. Go checks it against the checksum database.
 *
 * @param module path and version, such as `sigs.k8s.io/kueue@v0.17.0`
 * @returns the folder of the module's files, which are read-only
 * @throws {Error} in the words of `go`
 */
export async function moduleFolder(module: string): Promise<string> {
  const options = { cwd: tmpdir(), env: { ...process.env, GOWORK: "off" } };
  const { stdout } = await promisify(execFile)("go", ["mod", "download", "-json", module], options);
  return JSON.parse(stdout).Dir;
}
