/** Runs `go build` for a group of programs, and reports its progress. @module */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { BuildOptions } from "./binaries.ts";
import { requiredVersion } from "./programs.ts";

export interface GoBuild {
  title: string;
  /** Go package of each program, by program name. */
  packages: Record<string, string>;
  /** Module whose version the programs have; undefined: each has its own. */
  versionOf?: string | undefined;
  moduleFolder: string;
  /** Linker flags. */
  flags: string;
  /** An empty folder for the programs, under the names that Go gives them. */
  scratch: string;
}

/**
 * Builds programs with the machine's Go.
 *
 * @throws {Error} one clear sentence, with the last lines of Go's output if there are any
 */
export async function goBuild(build: GoBuild, { progress, signal }: BuildOptions): Promise<void> {
  const goMod = readFileSync(join(build.moduleFolder, "go.mod"), "utf8");
  const programs = Object.entries(build.packages).map(([name, path]) =>
    `${name} ${requiredVersion(goMod, build.versionOf ?? path)}`
  );
  progress(
    `building ${build.title}: ${
      programs.join(", ")
    } (first run only, some minutes; later runs find them in the cache) …`,
  );
  const start = Date.now();
  const minutes = () => `${((Date.now() - start) / 60_000).toFixed(1)} min`;
  const ticker = setInterval(() => progress(`still building ${build.title} (${minutes()}) …`), 30_000);
  try {
    await runGo(build, signal);
  } finally {
    clearInterval(ticker);
  }
  progress(`built ${build.title} in ${minutes()}`);
}

function runGo(build: GoBuild, signal: AbortSignal | undefined): Promise<void> {
  const args = [
    "build",
    "-trimpath",
    "-ldflags",
    build.flags,
    "-o",
    `${build.scratch}/`,
    ...Object.values(build.packages),
  ];
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
  const what = Object.keys(build.packages).join(", ");
  return new Promise((resolve, reject) => {
    const go = spawn("go", args, { cwd: build.moduleFolder, env, stdio: ["ignore", "ignore", "pipe"], signal });
    let output = "";
    go.stderr.setEncoding("utf8").on("data", (text: string) => output = (output + text).slice(-4000));
    go.on("error", (error: NodeJS.ErrnoException) => {
      const noGo = `Cannot build ${what}: there is no "go" command on the PATH; install Go 1.26.6 or later`;
      reject(error.code === "ENOENT" ? new Error(noGo) : error);
    });
    go.on("close", (code) => {
      if (code === 0) return resolve();
      const tail = output.trimEnd().split("\n").slice(-15).map((line) => `  ${line}`).join("\n");
      reject(new Error(`Cannot build ${what}: go build ended with ${code}\n${tail}`));
    });
  });
}
