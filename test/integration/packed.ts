/** A project that has installed what is published as its users do. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { shared } from "./shared.ts";

/** Programs of this checkout. */
export const BIN = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));

/** A project that has installed what is published. */
export interface Project {
  folder: string;
  /** Runs a program there; resolves with all that it wrote. @throws {Error} if it fails */
  run(command: string, args: string[], env?: Record<string, string>): Promise<string>;
}

/** Returns a project that all files of a run share: the one with all packages, or with the SDK alone. */
export async function packedProject(name: "consumer" | "sdkConsumer" = "consumer"): Promise<Project> {
  const { folder } = await shared(name);
  return {
    folder,
    async run(command, args, env = {}) {
      const options = { cwd: folder, env: { ...process.env, ...env } };
      const { stdout, stderr } = await promisify(execFile)(command, args, options);
      return stdout + stderr;
    },
  };
}
