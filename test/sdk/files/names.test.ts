/** Files whose names are not UTF-8: uploads from the caller's disk, and downloads to it. @module */
import { Buffer } from "node:buffer";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createFS } from "../../../packages/sdk/files/fs.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { aSandbox, OBJECT } from "../localtransport.ts";

const bytes = (folder: string, path: string) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
const namesIn = (path: string | Buffer) =>
  readdirSync(path, { encoding: "buffer" }).map((name) => name.toString("latin1")).sort();

/** A folder of the caller with such names. */
function aFolder(): string {
  const folder = makeTempFolder();
  writeFileSync(bytes(folder, "caf\xe9"), "q");
  mkdirSync(bytes(folder, "\xff"));
  writeFileSync(bytes(folder, "\xff/\xfe"), "z");
  symlinkSync(Buffer.from("caf\xe9", "latin1"), bytes(folder, "link"));
  writeFileSync(bytes(folder, "ok"), "r");
  return folder;
}

test("a folder goes up and comes down whole", async () => {
  const { runtimeClient, at } = await aSandbox();
  const files = createFiles(runtimeClient);
  const up = { files: 3, directories: 1, links: 1, skipped: [] };
  expect(await files.upload(aFolder(), "up")).toMatchObject(up);
  expect([namesIn(at("up")), namesIn(bytes(at("up"), "\xff"))]).toEqual([["caf\xe9", "link", "ok", "\xff"], ["\xfe"]]);
  const down = makeTempFolder();
  expect(await files.download("up", down)).toMatchObject(up);
  expect([namesIn(down), namesIn(bytes(down, "\xff"))]).toEqual([["caf\xe9", "link", "ok", "\xff"], ["\xfe"]]);
  expect(readFileSync(`${down}/link`, "utf8")).toBe("q");
  await files.download("up/caf\udce9", `${down}/into/`);
  expect(namesIn(`${down}/into`)).toEqual(["caf\xe9"]);
});

test("what a list names is what other calls take", async () => {
  const { runtimeClient, at } = await aSandbox();
  const files = createFiles(runtimeClient);
  await files.upload(aFolder(), "up");
  const all = await files.list("up", { depth: Infinity });
  expect(all.map(({ path }) => path)).toEqual(["up/caf\udce9", "up/link", "up/ok", "up/\udcff", "up/\udcff/\udcfe"]);
  for (const { path, type } of all) if (type === "file") expect(await files.read(path)).toMatch(/^[qrz]$/);
  await files.rename("up/caf\udce9", "up/\udce8");
  await files.write("up/new\udc80", "w");
  expect(await files.exists("up/new\udc80")).toBe(true);
  const fs = createFS(files, OBJECT);
  expect(await fs.readdir("up")).toEqual(["link", "new\udc80", "ok", "\udce8", "\udcff"]);
  await fs.rm("up/\udcff", { recursive: true });
  await files.remove("up", { recursive: true });
  expect(namesIn(at("."))).toEqual([]);
});
