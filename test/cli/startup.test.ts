/** What the command loads before it knows what to do: people wait for that each time. @module */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeTempFolder } from "../tempfolder.ts";

const MAIN = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));
const COUNT = `import { registerHooks } from "node:module";
const urls = [];
registerHooks({ load: (url, context, next) => { if (!url.startsWith("node:")) urls.push(url); return next(url, context); } });
process.on("exit", () => process.stderr.write(JSON.stringify(urls)));`;

function loadedBy(...args: string[]): string[] {
  const hooks = `data:text/javascript,${encodeURIComponent(COUNT)}`;
  const { stderr } = spawnSync(process.execPath, ["--import", hooks, MAIN, ...args], { encoding: "utf8" });
  return JSON.parse(stderr.slice(stderr.lastIndexOf("["))) as string[];
}

/** Digits of numbers have to survive whatever is printed; the module imports nothing. */
const isSmall = (url: string) => url.endsWith("/api/objects/json.ts");

test("--help loads the commands and Commander, and no more", () => {
  const loaded = loadedBy("--help");
  const heavy = loaded.filter((url) =>
    /node_modules\/(?!commander\/)|\/(api|kube|hooks|keeper|router|runtime)\//.test(url) && !isSmall(url)
  );
  expect(heavy).toEqual([]);
  expect(loaded.length).toBeLessThan(80);
});

test("get loads Commander, and neither zod nor a parser for all of YAML", () => {
  const kubeconfig = join(makeTempFolder(), "config");
  writeFileSync(
    kubeconfig,
    `clusters:
- cluster:
    server: http://127.0.0.1:1
  name: none
contexts:
- context:
    cluster: none
  name: none
current-context: none
`,
  );
  const loaded = loadedBy("get", "--kubeconfig", kubeconfig);
  expect(loaded.filter((url) => /node_modules\/(?!commander\/)/.test(url))).toEqual([]);
  expect(loaded.some((url) => url.endsWith("/kube/connection.ts")), "it has asked the cluster").toBe(true);
});

test("Tab on a command's name loads what completes, and nothing that talks to a cluster", () => {
  const loaded = loadedBy("complete", "--", "exe");
  const heavy = loaded.filter((url) =>
    /node_modules\/(?!commander\/|@bomb\.sh\/)|\/(api|kube)\//.test(url) && !isSmall(url)
  );
  expect(heavy).toEqual([]);
});
