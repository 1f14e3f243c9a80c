/** E2B's published Python clients against the runtime: every method for commands, files, terminals and git. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startSandbox } from "../runtime/envd/sandbox.ts";
import { E2B, pythonWith } from "./python.ts";

test.for(["sync", "async"])("the %s client", async (kind) => {
  const python = await pythonWith(E2B, (line) => process.stdout.write(`clients: ${line}\n`));
  const { port, home } = await startSandbox();
  const program = fileURLToPath(new URL(`programs/e2b_${kind}.py`, import.meta.url));
  const options = { env: { PATH: process.env["PATH"], HOME: home } };
  const { stdout } = await promisify(execFile)(python, [program, `http://127.0.0.1:${port}`], options);
  expect(stdout).toBe("done\n");
});
