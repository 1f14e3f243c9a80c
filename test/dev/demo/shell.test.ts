/** kubectl for the demo: what a command says when it ends, whatever it was given. @module */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeShell } from "../../../dev/demo/terminal.ts";
import { makeTempFolder } from "../../tempfolder.ts";

/** More than fits between two processes: who writes it notices that nobody reads. */
const INPUT = "x".repeat(1 << 20);

beforeEach(() => void vi.spyOn(process.stdout, "write").mockReturnValue(true));
afterEach(() => void vi.mocked(process.stdout.write).mockRestore());

function shellOf(script: string) {
  const kubectl = join(makeTempFolder(), "kubectl");
  writeFileSync(kubectl, `#!/bin/sh\n${script}\n`);
  chmodSync(kubectl, 0o755);
  return makeShell(kubectl, ["--kubeconfig", "kubeconfig"], new AbortController().signal);
}

test("a command that ends without reading what it is given counts by its exit code alone", async () => {
  expect(await shellOf("echo done").pipe(INPUT, "apply", "-f", "-")).toBe("done\n");
  const refused = shellOf("echo refused >&2; exit 1").pipe(INPUT, "apply", "-f", "-");
  await expect(refused).rejects.toThrow("kubectl apply -f -: refused");
});
