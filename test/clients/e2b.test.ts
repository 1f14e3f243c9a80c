/** E2B's published clients against the runtime: every method for commands, files, terminals and git. @module */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { npmPackages } from "../npmpackages.ts";
import { ranProgram } from "../ranprogram.ts";
import { startSandbox } from "../runtime/envd/sandbox.ts";
import { E2B, OLD_E2B, type Packages, pythonWith } from "./python.ts";

const CLIENTS = [["sync", "2.63", E2B], ["async", "2.63", E2B], ["sync", "2.31", OLD_E2B], ["async", "2.31", OLD_E2B]];

test.for(CLIENTS as [string, string, Packages][])("the %s client of Python, version %s", async ([kind, , packages]) => {
  const python = await pythonWith(packages, (line) => process.stdout.write(`clients: ${line}\n`));
  const { port, home } = await startSandbox();
  const program = fileURLToPath(new URL(`programs/e2b_${kind}.py`, import.meta.url));
  const options = { env: { PATH: process.env["PATH"], HOME: home } };
  const given = { debug: true, sandbox_url: `http://127.0.0.1:${port}`, api_key: "e2b_00" };
  const args = [program, JSON.stringify(given), ...packages === OLD_E2B ? ["old"] : []];
  const stdout = await ranProgram(python, args, options);
  expect(stdout).toBe("done\n");
});

test("the client of JavaScript, version 2.31", async () => {
  const folder = await npmPackages(fileURLToPath(new URL("e2b.json", import.meta.url)));
  const { port, home } = await startSandbox();
  const program = fileURLToPath(new URL("programs/e2b.mjs", import.meta.url));
  const given = {
    ...{ sandboxId: "iabc", envdVersion: "0.6.13", apiKey: "e2b_00" },
    sandboxUrl: `http://127.0.0.1:${port}`,
  };
  const args = [program, `${folder}/node_modules/e2b/dist/index.mjs`, JSON.stringify(given)];
  const options = { env: { PATH: process.env["PATH"], HOME: home } };
  const stdout = await ranProgram(process.execPath, args, options);
  expect(stdout).toBe("done\n");
});
