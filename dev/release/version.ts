/** Checks whether all files that contain the version contain the same one. @module */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the version in the repository's package.json. */
export function releaseVersion(root: string): string {
  return versionIn(join(root, "package.json"));
}

/** Lists the files with another version, one on each line. @param isDry the changelog may still lack the version */
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
