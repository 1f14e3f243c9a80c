/**
 * Creates the files of a release, and checks that all files contain its version. The same sources always give the same
 * bytes. @module
 */
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { renderBundle, renderRetained } from "../../packages/cli/install/bundle.ts";
import { createTarWriter } from "../../packages/process/tarwriter.ts";

/** What to create, and where. */
interface ArtefactOptions {
  /** A checkout with built packages. */
  root: string;
  out: string;
  version: string;
  /** Name of the image of all processes, without tag. */
  image: string;
  /** Private SSH key for signatures; undefined: nothing is signed. */
  key: string | undefined;
}

const PUBLISHED = ["hookbox", "@hookbox/cli", "@hookbox/testing"];

/**
 * Writes the npm packages, `crds.yaml` (with the namespaces), `install.yaml`, `managedfields.yaml` (a separate file, because
 * older clusters lack its kind), the chart as `chart-hookbox-<version>.tgz`, `SHA256SUMS`, and its signature if there is a key.
 *
 * @throws if npm or ssh-keygen fails
 */
export async function writeArtefacts({ root, out, version, image, key }: ArtefactOptions): Promise<void> {
  const workspaces = PUBLISHED.flatMap((name) => ["--workspace", name]);
  execFileSync("npm", ["pack", ...workspaces, "--pack-destination", out, "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const namespace = "hookbox-system";
  const bundle = { namespace, image: `${image}:${version}`, processes: true, crds: false, namespaces: false };
  const apply = (file: string) => `# hookbox ${version}: kubectl apply --server-side -f ${file}\n`;
  const kept = "# Apply before install.yaml. If you delete these namespaces and CRDs, you delete all Sandboxes.\n";
  writeFileSync(join(out, "crds.yaml"), `${apply("crds.yaml")}${kept}${renderRetained(namespace)}`);
  const after = "# Apply after crds.yaml, and after Metacontroller is installed.\n";
  writeFileSync(join(out, "install.yaml"), `${apply("install.yaml")}${after}${renderBundle(bundle)}`);
  copyFileSync(join(root, "deploy/managedfields/policy.yaml"), join(out, "managedfields.yaml"));
  const values = (text: string) => text.replace(/^( {2}repository:) .*$/m, `$1 ${image}`);
  const chart = await chartOf(join(root, "deploy/chart"), (path, text) => path === "values.yaml" ? values(text) : text);
  writeFileSync(join(out, `chart-hookbox-${version}.tgz`), chart);
  const sums = readdirSync(out).sort().map((file) => `${sha256(join(out, file))}  ${file}\n`);
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  if (key === undefined) return;
  execFileSync("ssh-keygen", ["-Y", "sign", "-f", key, "-n", "file", join(out, "SHA256SUMS")], { stdio: "pipe" });
}

/** Packs a chart like Helm: links are resolved, and the folder has the chart's name. */
async function chartOf(folder: string, edit: (path: string, text: string) => string): Promise<Uint8Array> {
  const tar = createTarWriter();
  const reading = collected(tar.chunks);
  for (const path of filesIn(folder)) {
    const content = Buffer.from(edit(path, readFileSync(join(folder, path), "utf8")));
    const header = { name: `hookbox/${path}`, mode: 0o644, mtime: new Date(0), size: content.length };
    await tar.putFile(
      header,
      (async function* () {
        yield await Promise.resolve(content);
      })(),
    );
  }
  tar.end();
  return gzipSync(Buffer.concat(await reading), { level: 9 });
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

function filesIn(folder: string, prefix = ""): string[] {
  return readdirSync(join(folder, prefix)).sort().flatMap((name) => {
    const path = prefix === "" ? name : `${prefix}/${name}`;
    return statSync(join(folder, path)).isDirectory() ? filesIn(folder, path) : [path];
  });
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** Returns the version in the repository's package.json. */
export function releaseVersion(root: string): string {
  return versionIn(join(root, "package.json"));
}

/** Lists the files with another version, one on each line. @param isDry the changelog may still lack the version */
export function mismatches(root: string, version: string, isDry: boolean): string[] {
  const folders = ["hooks", "packages/*", "packages/integrations/*", "dev"];
  const manifests = globSync(folders.map((folder) => `${folder}/package.json`), { cwd: root }).sort();
  const wrong = manifests.flatMap((file) => {
    const found = versionIn(join(root, file));
    return found === version ? [] : [`${file} says ${found}`];
  });
  const read = (file: string) => readFileSync(join(root, file), "utf8");
  for (const [, key, found] of read("deploy/chart/Chart.yaml").matchAll(/^(version|appVersion): (.*)$/gm)) {
    if (found !== version) wrong.push(`deploy/chart/Chart.yaml says ${key} ${found}`);
  }
  for (const file of globSync("deploy/{hooks,keeper,binder,router,egress,e2b,v1alpha1}/*.yaml", { cwd: root }).sort()) {
    for (const [, found] of read(file).matchAll(/image: hookbox:(.*)$/gm)) {
      if (found !== version) wrong.push(`${file} runs the image of ${found}`);
    }
  }
  if (!isDry && !read("CHANGELOG.md").includes(`\n## ${version}`)) wrong.push("CHANGELOG.md has no section for it");
  return wrong;
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
