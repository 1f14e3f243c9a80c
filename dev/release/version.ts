/** Whether all that names a version names the same one. Reads files, changes none. @module */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the version that the repository's package.json says. */
export function releaseVersion(root: string): string {
  return versionIn(join(root, "package.json"));
}

/** Lists what names another version, in one line each. @param isDry the changelog may still be without it */
export function mismatches(root: string, version: string, isDry: boolean): string[] {
  const manifests = globSync(["hooks/package.json", "packages/*/package.json", "dev/package.json"], { cwd: root })
    .sort();
  const wrong = manifests.flatMap((file) => {
    const found = versionIn(join(root, file));
    return found === version ? [] : [`${file} says ${found}`];
  });
  const read = (file: string) => readFileSync(join(root, file), "utf8");
  for (const [, key, found] of read("deploy/chart/Chart.yaml").matchAll(/^(version|appVersion): (.*)$/gm)) {
    if (found !== version) wrong.push(`deploy/chart/Chart.yaml says ${key} ${found}`);
  }
  for (const file of globSync("deploy/{hooks,keeper,binder,router,v1alpha1}/*.yaml", { cwd: root }).sort()) {
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
