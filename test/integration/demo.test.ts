/**
 * The demo on a cluster that exists, played as a user does: on the cluster of the tests, where Metacontroller and hookbox
 * are installed already. Afterwards, nothing of the demo is left, and nothing else has changed. @module
 */
import { spawn } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { CHAPTERS } from "../../dev/demo/chapters.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./kubectl.ts";
import { suite } from "./suite.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CONTEXT = parse(readFileSync(suite.kubeconfig, "utf8"))["current-context"] as string;
const INSTALLED = "crd,compositecontrollers,decoratorcontrollers";
/** What an installation of hookbox consists of. Other tests of this cluster create and delete controllers of their own. */
const OURS = /agents\.x-k8s\.io|metacontroller\.k8s\.io|Controller\/sandbox(claim|template|warmpool)? /;

/** Returns what is installed, with UIDs and the versions of specs. */
async function installed(): Promise<string[]> {
  const path = "{range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.generation}{'\\n'}{end}";
  const lines = (await run(suite, ["get", INSTALLED, "-o", `jsonpath=${path}`])).trim().split("\n");
  return lines.filter((line) => OURS.test(line)).sort();
}

const hasNamespace = async (name: string) =>
  (await run(suite, ["get", "namespace", name, "--ignore-not-found", "-o", "name"])) !== "";

interface Demo {
  output(): string;
  /** Resolves with the exit code. */
  ended: Promise<number | null>;
  interrupt(): void;
}

function startDemo(...args: string[]): Demo {
  const bin = makeTempFolder();
  symlinkSync(suite.kubectl, join(bin, "kubectl"));
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}`, NO_COLOR: "1" };
  const where = ["--context", CONTEXT, "--kubeconfig", suite.kubeconfig];
  const child = spawn(process.execPath, ["dev/demo/main.ts", ...where, ...args], { cwd: ROOT, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => text += chunk);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { output: () => text, ended, interrupt: () => void child.kill("SIGINT") };
}

test("it plays all chapters in a namespace of its own, and leaves the cluster as it was", async () => {
  const before = await installed();
  expect(before.join("\n")).toMatch(/^CompositeController\/sandbox /m);
  const demo = startDemo("--namespace", "demo-whole");
  expect(await demo.ended, demo.output()).toBe(0);
  const output = demo.output();
  expect(output).toContain("hookbox is installed already: the demo uses it, and does not change it.");
  // The cluster, the chapters, the end.
  expect(output.match(/^── /gm)).toHaveLength(CHAPTERS.length + 2);
  expect(output).toContain("hookbox was installed before, so the demo does not replace its functions.");
  expect(output).toContain("✓ the same as before: the volume");
  expect(output).toContain("removed namespace demo-whole, with everything in it");
  expect(output).not.toContain("✗");
  expect(await hasNamespace("demo-whole")).toBe(false);
  expect(await installed()).toEqual(before);
});

test("after Ctrl-C, it removes what it has created, and ends with an error", async () => {
  const before = await installed();
  const demo = startDemo("--namespace", "demo-interrupted");
  await expect.poll(demo.output, { timeout: 120_000 }).toContain("── A command in it");
  expect(await hasNamespace("demo-interrupted")).toBe(true);
  demo.interrupt();
  expect(await demo.ended, demo.output()).toBe(1);
  expect(demo.output()).toContain("✗ Interrupted");
  expect(await hasNamespace("demo-interrupted")).toBe(false);
  expect(await installed()).toEqual(before);
});

test("it refuses a namespace that exists, and does not delete it", async () => {
  await run(suite, ["create", "namespace", "taken"]);
  onTestFinished(() => run(suite, ["delete", "namespace", "taken", "--wait=false"]).then(() => {}));
  const demo = startDemo("--namespace", "taken");
  expect(await demo.ended).toBe(1);
  expect(demo.output()).toContain("namespace taken exists already");
  expect(await hasNamespace("taken")).toBe(true);
});
