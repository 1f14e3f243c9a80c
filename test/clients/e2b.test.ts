/** E2B's published Python clients against the runtime: every method for commands, files, terminals and git. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startSandbox } from "../runtime/envd/sandbox.ts";
import { E2B, OLD_E2B, type Packages, pythonWith } from "./python.ts";

const CLIENTS = [["sync", "2.63", E2B], ["async", "2.63", E2B], ["sync", "2.31", OLD_E2B], ["async", "2.31", OLD_E2B]];

test.for(CLIENTS as [string, string, Packages][])("the %s client, version %s", async ([kind, , packages]) => {
  const python = await pythonWith(packages, (line) => process.stdout.write(`clients: ${line}\n`));
  const { port, home } = await startSandbox();
  const program = fileURLToPath(new URL(`programs/e2b_${kind}.py`, import.meta.url));
  const options = { env: { PATH: process.env["PATH"], HOME: home } };
  const args = [program, `http://127.0.0.1:${port}`, ...packages === OLD_E2B ? ["old"] : []];
  const { stdout } = await promisify(execFile)(python, args, options);
  expect(stdout).toBe("done\n");
});
