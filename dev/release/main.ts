/** `npm run release`: creates the files of a release, and publishes its packages unless it is a dry run. @module */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { mismatches, releaseVersion, writeArtefacts } from "./artefacts.ts";

const HELP =
  `Creates the files of a release: the npm packages, crds.yaml, install.yaml, managedfields.yaml, the Helm chart, and SHA256SUMS.

Usage: npm run release -- [options]

  --dry-run      make it all, and publish nothing
  --image NAME   image that install.yaml and chart run, without tag (default: hookbox)
  --out DIR      folder, emptied before (default: .hookbox/release)
  --sign KEY     private SSH key that signs SHA256SUMS; its public key lies next to it
  --help         this text

To check a signature: ssh-keygen -Y verify -f allowed_signers -I NAME -n file -s SHA256SUMS.sig < SHA256SUMS
`;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      "dry-run": { type: "boolean", default: false },
      "image": { type: "string", default: "hookbox" },
      "out": { type: "string", default: join(ROOT, ".hookbox/release") },
      "sign": { type: "string" },
      "help": { type: "boolean", default: false },
    },
  });
  if (values.help) return process.stdout.write(HELP), 0;
  const { "dry-run": isDry, image, sign } = values;
  const version = releaseVersion(ROOT);
  const wrong = mismatches(ROOT, version, isDry);
  if (wrong.length > 0) throw new RangeError(`Cannot release ${version}:\n  ${wrong.join("\n  ")}`);
  const out = resolve(values.out);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  say(`${version}: building …`);
  execFileSync("npm", ["run", "-s", "build"], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  await writeArtefacts({ root: ROOT, out, version, image, key: sign === undefined ? undefined : resolve(sign) });
  for (const file of readdirSync(out).sort()) say(`  ${join(out, file)}`);
  if (isDry) return say("Nothing was published."), 0;
  for (const file of readdirSync(out).filter((name) => name.endsWith(".tgz") && !name.startsWith("chart-"))) {
    execFileSync("npm", ["publish", "--access", "public", join(out, file)], { stdio: "inherit" });
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
