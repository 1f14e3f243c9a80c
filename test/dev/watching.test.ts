/** `npm run dev` loads hooks anew whenever a file is saved, in whatever way editors and git save. @module */
import { spawn } from "node:child_process";
import { cpSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { PATIENCE_MS } from "../patience.ts";
import { makeTempFolder } from "../tempfolder.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Starts it on a copy of this checkout's hooks. @returns the copy, and how often it has said that it listens */
async function dev(): Promise<{ copy: string; loads: () => number }> {
  const copy = makeTempFolder();
  for (const path of ["packages/api", "packages/process", "packages/webhook", "hooks", "deno.json"]) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  writeFileSync(join(copy, "package.json"), JSON.stringify({ type: "module", scripts: { dev: scripts.dev } }));
  const [port = 0] = await freePorts(1);
  const args = ["run", "dev", "--", "--host", "127.0.0.1", "--port", String(port)];
  const child = spawn("npm", args, { cwd: copy, stdio: ["ignore", "inherit", "pipe"], detached: true });
  onTestFinished(() => void (child.pid && process.kill(-child.pid, "SIGKILL")));
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => log += text);
  return { copy, loads: () => log.split('"Listening"').length - 1 };
}

/** Saves until it is loaded: for a tenth of a second after it has loaded files Deno does not see that they change. */
async function seen(loads: () => number, save: () => void): Promise<void> {
  const before = loads();
  await vi.waitFor(() => {
    if (loads() === before) save();
    expect(loads()).toBeGreaterThan(before);
  }, { timeout: PATIENCE_MS, interval: 2000 });
}

test("a file that is replaced by another of its name, again and again, and then written to", async () => {
  const { copy, loads } = await dev();
  await vi.waitUntil(() => loads() > 0, { timeout: PATIENCE_MS });
  const path = join(copy, "hooks/sandbox/sync.ts");
  const text = readFileSync(path, "utf8");
  for (const change of ["first", "second", "third"]) {
    await seen(loads, () => {
      writeFileSync(`${path}.new`, `${text}// ${change}\n`);
      renameSync(`${path}.new`, path);
    });
  }
  await seen(loads, () => writeFileSync(path, text));
});
