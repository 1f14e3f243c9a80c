/** A release: signed, and what it installs is what deploy/ has; in a long run made twice: the same bytes. @module */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, inject, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { findPrograms } from "../../../dev/cluster/binaries.ts";
import { HELM } from "../../../dev/cluster/programs.ts";
import { releaseVersion } from "../../../dev/release/artefacts.ts";
import { installDebian } from "../../installdebian.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const version = releaseVersion(ROOT);
const { helm = "helm" } = await findPrograms(HELM, { progress: () => {} });

/** What a copy of the checkout does without: other tests use what is built in this one. */
const LEFT = new Set([".git", "node_modules", ".hookbox", ...globSync("{hooks,packages/*}/dist", { cwd: ROOT })]);

const run = (command: string, args: string[], input?: string, cwd = ROOT) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe", maxBuffer: 10_000_000, input });

beforeAll(() => {
  if (existsSync("/usr/bin/ssh-keygen")) return;
  const why = installDebian(["openssh-client"], "signatures", (line) => process.stdout.write(`release: ${line}\n`));
  if (why !== undefined) throw new Error(why);
});

function copyOfCheckout(folder: string): string {
  cpSync(ROOT, folder, { recursive: true, verbatimSymlinks: true, filter: (path) => !LEFT.has(relative(ROOT, path)) });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

test("a release is the same each time, signed, and installs what it says", () => {
  const folder = makeTempFolder();
  const key = join(folder, "key");
  run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  // Each takes a minute of processor time.
  const names = inject("isSoak") ? ["first", "second"] : ["first"];
  const made = names.map((name) => {
    const out = join(folder, name);
    const args = ["dev/release/main.ts", "--dry-run", "--image", "r.example/hookbox", "--out", out];
    const signing = name === "first" ? ["--sign", key] : [];
    const said = run(
      process.execPath,
      [...args, ...signing],
      undefined,
      copyOfCheckout(join(folder, `checkout-${name}`)),
    );
    expect(said).toContain("Nothing was published.");
    return out;
  });
  const [first = ""] = made;
  const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
  for (const folder of made) expect(readFileSync(join(folder, "SHA256SUMS"), "utf8")).toBe(sums);
  expect(readdirSync(first).sort()).toEqual([
    "SHA256SUMS",
    "SHA256SUMS.sig",
    `chart-hookbox-${version}.tgz`,
    "crds.yaml",
    `hookbox-${version}.tgz`,
    `hookbox-cli-${version}.tgz`,
    `hookbox-testing-${version}.tgz`,
    "install.yaml",
    "managedfields.yaml",
  ]);
  execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: first, stdio: "pipe" });

  const signers = join(folder, "signers");
  writeFileSync(signers, `someone ${readFileSync(`${key}.pub`, "utf8")}`);
  const verify = ["-Y", "verify", "-f", signers, "-I", "someone", "-n", "file", "-s", join(first, "SHA256SUMS.sig")];
  expect(run("ssh-keygen", verify, sums)).toContain("Good");
  expect(() => run("ssh-keygen", verify, `${sums}more`)).toThrow();

  const images = (text: string) => new Set([...text.matchAll(/image: "?([^"\s]+)/g)].map(([, image]) => image));
  const install = readFileSync(join(first, "install.yaml"), "utf8");
  const chart = run(helm, ["template", "hookbox", join(first, `chart-hookbox-${version}.tgz`), "-n", "hookbox-system"]);
  expect([images(install), images(chart)]).toEqual([
    new Set([`r.example/hookbox:${version}`]),
    new Set([`r.example/hookbox:${version}`]),
  ]);
  const kinds = (text: string) =>
    parseAllDocuments(text).map((document) => document.toJS()).filter((object) => object?.kind === "Deployment")
      .map(({ metadata }) => metadata.name).sort();
  expect(kinds(install)).toEqual(kinds(chart));
  expect(kinds(install)).toHaveLength(7);
});
