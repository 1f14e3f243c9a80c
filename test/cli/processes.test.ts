/** The command as a process: its start-up, the processes that it becomes, signals and pipes. @module */
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./fakecontext.ts";

const MAIN = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));
const NODE = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url));

function hookbox(args: string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(NODE, [MAIN, ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: "/nowhere", ...env },
  });
  return { code: status, stdout, stderr };
}

test("without a cluster it says so in two lines", () => {
  expect(hookbox(["get"])).toEqual({
    code: 1,
    stdout: "",
    stderr: "Cannot find a cluster: there is no /nowhere/.kube/config\n" +
      "Name a kubeconfig with --kubeconfig or KUBECONFIG.\n",
  });
});

test.for(["serve", "keeper", "binder", "router", "runtime"])(
  "%s --help is the process' own, under the command's name",
  async (name) => {
    for (const flag of ["--help", "-h"]) {
      const { code, stdout, stderr } = await run([name, flag]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(new RegExp(`^Usage: hookbox ${name} .*\n\n`));
      expect(stdout).toMatch(/--log-level L/);
    }
  },
);

test.for(
  [
    ["serve --log-level loud", /^Cannot use --log-level "loud": /],
    ["serve foo", /^Cannot serve hook "foo": /],
    ["serve --port 70000", /^Cannot use --port "70000": /],
    ["keeper --log-level loud", /^Cannot use --log-level "loud": use debug, info, warn or error\n$/],
    ["keeper --foo", /^Unknown option "--foo": see --help\n$/],
    ["binder --log-level loud", /^Cannot use --log-level "loud": /],
    ["router --log-level loud", /^Cannot use --log-level "loud": /],
    ["router --port 99999999", /^Cannot use .* "99999999": /],
    ["runtime --log-level loud", /^Cannot use --log-level "loud": /],
  ] as const,
)("%s makes no sense: code 2, and standard error says why", ([line, why]) => {
  const { code, stdout, stderr } = hookbox(line.split(" "));
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(why) });
});

test("what goes wrong behind a command line that makes sense is code 1", () => {
  for (const args of [["keeper", "--kubeconfig", "/nowhere"], ["serve", "--host", "192.0.2.1"]]) {
    const { code, stdout, stderr } = hookbox(args);
    expect({ code, stdout, says: stderr !== "" }).toEqual({ code: 1, stdout: "", says: true });
  }
});

test("called as kubectl-hookbox it is kubectl's, by whatever link", () => {
  const link = join(makeTempFolder(), "kubectl-hookbox");
  symlinkSync(MAIN, link);
  const { stdout } = spawnSync(NODE, [link, "get", "--help"], { encoding: "utf8" });
  expect(stdout).toMatch(/^Usage: kubectl hookbox get /);
  expect(stdout).toMatch(/\n {2}kubectl hookbox get claims -A/);
  const completing = join(makeTempFolder(), "kubectl_complete-hookbox");
  symlinkSync(MAIN, completing);
  expect(spawnSync(NODE, [completing, "susp"], { encoding: "utf8" }).stdout).toMatch(/^suspend\t.*\n:4\n$/);
});

test("--version is the package's", async () => {
  expect(await run("--version")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});
