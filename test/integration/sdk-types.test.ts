/** The types of the packed SDK, in a project that has nothing else, with two compilers. @module */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { npmPackages } from "../npmpackages.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { CONSUMER, TSCONFIG } from "./packageconsumer.ts";
import { packedProject } from "./packed.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Folders of TypeScript. */
let compilers: Record<string, string>;
let sdk: string;

beforeAll(async () => {
  const tools = await npmPackages(fileURLToPath(new URL("tools.json", import.meta.url)));
  compilers = { "5.9": join(tools, "node_modules/typescript"), "7": join(ROOT, "node_modules/typescript") };
  sdk = join((await packedProject("sdkConsumer")).folder, "node_modules/hookbox");
});

const WITHOUT_NODE = { types: [] };
const CASES: Record<string, object> = {
  "for es2022, with the default libraries": { target: "es2022", ...WITHOUT_NODE },
  "for es2024, with the default libraries": { target: "es2024", ...WITHOUT_NODE },
  "for es2022, with a bundler": { target: "es2022", module: "esnext", moduleResolution: "bundler", ...WITHOUT_NODE },
  "for es2024, with Node's types and without those of browsers": {
    target: "es2024",
    lib: ["es2024"],
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
  },
};

const combined = ["5.9", "7"].flatMap((version) =>
  Object.entries(CASES).map(([name, options]) => ({ version, name, options }))
);

test.for(combined)("TypeScript $version compiles $name", async ({ version, options }) => {
  const folder = makeTempFolder();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(sdk, join(folder, "node_modules/hookbox"));
  const { lib: _, types: __, ...strict } = TSCONFIG.compilerOptions;
  // A link is not followed, so that the packages next to the SDK cannot be found.
  const compilerOptions = { ...strict, preserveSymlinks: true, ...options };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: version === "7" ? "module" : "commonjs" }));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...TSCONFIG, compilerOptions }));
  writeFileSync(join(folder, "consumer.ts"), CONSUMER);
  const compiler = compilers[version] ?? "";
  expect(JSON.parse(readFileSync(join(compiler, "package.json"), "utf8")).version).toMatch(`${version}.`);
  const running = promisify(execFile)(process.execPath, [join(compiler, "bin/tsc"), "-p", "."], { cwd: folder });
  expect(await running.catch(({ stdout }: { stdout: string }) => stdout)).toEqual({ stdout: "", stderr: "" });
});
