/** Our packages for frameworks of others, as users have them: built, with the frameworks at pinned versions. @module */
import { execFile } from "node:child_process";
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { npmPackages } from "../npmpackages.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { TSCONFIG } from "./packageconsumer.ts";
import { BIN, packedProject } from "./packed.ts";
import { serveSandboxes } from "./servedsandboxes.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = join(ROOT, "packages/integrations");
const NAMES = globSync("*/package.json", { cwd: FOLDER }).map((file) => file.split("/")[0] ?? "").sort();

/** Folders of installed packages. */
let frameworks: string;
let sdk: string;

beforeAll(async () => {
  frameworks = join(await npmPackages(fileURLToPath(new URL("frameworks.json", import.meta.url))), "node_modules");
  // The build that it makes is that of all packages.
  sdk = join((await packedProject("sdkConsumer")).folder, "node_modules/hookbox");
});

/** Makes a project that has the frameworks, the SDK and one of our packages. */
function makeProject(name: string): string {
  const folder = makeTempFolder();
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@hookbox"), { recursive: true });
  for (const found of readdirSync(frameworks)) symlinkSync(join(frameworks, found), join(modules, found));
  symlinkSync(sdk, join(modules, "hookbox"));
  const { files } = JSON.parse(readFileSync(join(FOLDER, name, "package.json"), "utf8"));
  for (const file of ["package.json", ...files]) {
    cpSync(join(FOLDER, name, file), join(modules, "@hookbox", name, file), { recursive: true });
  }
  // Of the compiled package, its peers are those of the project.
  cpSync(join(FOLDER, "tests", `${name}.mts`), join(folder, "program.mts"));
  cpSync(join(FOLDER, name, "mod.ts"), join(folder, "source.mts"));
  const compilerOptions = {
    ...TSCONFIG.compilerOptions,
    ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true, skipLibCheck: true, noImplicitOverride: true },
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return folder;
}

test.for(NAMES)("@hookbox/%s has the types of its framework, and works with it", async (name) => {
  const folder = makeProject(name);
  const tsc = promisify(execFile)(process.execPath, [join(BIN, "tsc"), "-p", "."], { cwd: folder });
  expect(await tsc.catch(({ stdout }: { stdout: string }) => stdout)).toEqual({ stdout: "", stderr: "" });
  const { kubeconfig, routerUrl } = await serveSandboxes();
  const env = { ...process.env, MASTRA_TELEMETRY_DISABLED: "1", OPENAI_AGENTS_DISABLE_TRACING: "1" };
  const running = promisify(execFile)(process.execPath, ["program.mts", kubeconfig, routerUrl], { cwd: folder, env });
  expect(await running.catch(({ stderr }: { stderr: string }) => stderr)).toMatchObject({ stdout: "ok\n" });
});

test.for(NAMES)("the README of @hookbox/%s names the versions that the test uses", (name) => {
  const { dependencies } = JSON.parse(readFileSync(new URL("frameworks.json", import.meta.url), "utf8"));
  const { peerDependencies } = JSON.parse(readFileSync(join(FOLDER, name, "package.json"), "utf8"));
  const readme = readFileSync(join(FOLDER, name, "README.md"), "utf8");
  const [framework = ""] = Object.keys(peerDependencies).filter((peer) => !["hookbox", "zod"].includes(peer));
  expect(readme).toContain(`\`${framework}\` ${dependencies[framework]}`);
  expect(readme).toContain(`@hookbox/${basename(name)}`);
});
