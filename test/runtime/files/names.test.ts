/** Files whose names are not UTF-8, on each file interface: listed, read, written, moved, packed, watched, removed. @module */
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { makeRoot } from "../folders.ts";
import { formOf, send, startTestRuntime } from "../servers.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

async function aRuntime() {
  const made = await makeRoot({ "raw/ok.txt": "y" });
  const at = (path: string) => Buffer.concat([Buffer.from(`${made.root.path}/`), latin1(path)]);
  writeFileSync(at("raw/caf\xe9.txt"), "x");
  mkdirSync(at("raw/\xff"));
  writeFileSync(at("raw/\xff/\xfe"), "z");
  symlinkSync(latin1("caf\xe9.txt"), at("raw/link\xe9"));
  const runtime = await startTestRuntime(made.root.path);
  onTestFinished(() => runtime.stop());
  const rest = (method: string, path: string, body?: string | Uint8Array) =>
    send(runtime.restPort, method, path, body === undefined ? {} : { body });
  return { ...made, at, runtime, rest };
}

/** Names in a folder, a character a byte. */
const namesIn = (path: Buffer) =>
  readdirSync(path, { encoding: "buffer" }).map((name) => name.toString("latin1")).sort();

test("they are listed, described, read, written, made, moved and removed", async () => {
  const { rest, at } = await aRuntime();
  const { entries } = JSON.parse((await rest("GET", "/v1/files/raw?links=true")).text);
  expect(entries.map(({ name, target }: Record<string, string>) => target ? [name, target] : name)).toEqual([
    "caf\udce9.txt",
    ["link\udce9", "raw/caf\udce9.txt"],
    "ok.txt",
    "\udcff",
  ]);
  expect(JSON.parse((await rest("GET", "/v1/stat/raw/%FF")).text)).toMatchObject({
    path: "raw/\udcff",
    type: "directory",
  });
  expect((await rest("GET", "/v1/files/raw/link%E9")).text).toBe("x");
  expect((await rest("PUT", "/v1/files/raw/%FF/new%80", "n")).status).toBe(204);
  expect((await rest("PUT", "/v1/folders/raw/%FD/deeper")).status).toBe(201);
  const rename = JSON.stringify({ from: "raw/caf\udce9.txt", to: "raw/\udce8" });
  expect((await rest("POST", "/v1/rename", rename)).status).toBe(204);
  expect([namesIn(at("raw")), namesIn(at("raw/\xff"))]).toEqual([
    ["link\xe9", "ok.txt", "\xe8", "\xfd", "\xff"],
    ["new\x80", "\xfe"],
  ]);
  expect((await rest("DELETE", "/v1/files/raw/%E8")).status).toBe(204);
  expect((await rest("DELETE", "/v1/files/raw?recursive=true")).status).toBe(204);
  expect(existsSync(at("raw"))).toBe(false);
});

test("a tar of them is one that others read, and those of others are read", async () => {
  const { rest, at, root } = await aRuntime();
  const tar = (await rest("GET", "/v1/archive/raw")).body;
  const names = execFileSync("tar", ["-t", "--quoting-style=escape"], { input: tar }).toString().split("\n").sort();
  expect(names.filter(Boolean)).toEqual(["\\377/", "\\377/\\376", "caf\\351.txt", "link\\351", "ok.txt"]);
  for (const format of ["gnu", "pax", "ustar"]) {
    const made = execFileSync("tar", [`--format=${format}`, "-c", "."], { cwd: `${root.path}/raw` });
    expect((await rest("PUT", `/v1/archive/${format}`, made)).status).toBe(200);
    expect(namesIn(at(format)), format).toEqual(["caf\xe9.txt", "link\xe9", "ok.txt", "\xff"]);
    expect((await rest("GET", `/v1/files/${format}/link%E9`)).text).toBe("x");
  }
  expect((await rest("PUT", "/v1/archive/own", tar)).status).toBe(200);
  expect([namesIn(at("own")), namesIn(at("own/\xff"))]).toEqual([["caf\xe9.txt", "link\xe9", "ok.txt", "\xff"], [
    "\xfe",
  ]]);
});

test("long ones and long links of them go through a tar", async () => {
  const { rest, at } = await aRuntime();
  const [long, target] = ["l".repeat(200) + "\xe9", `${"t".repeat(180)}\xe8`];
  writeFileSync(at(`raw/${long}`), "long");
  symlinkSync(latin1(target), at("raw/to"));
  await rest("PUT", "/v1/archive/own", (await rest("GET", "/v1/archive/raw")).body);
  expect(namesIn(at("own"))).toEqual(namesIn(at("raw")));
  expect(JSON.parse((await rest("GET", "/v1/stat/own/to")).text)).toMatchObject({
    target: `own/${"t".repeat(180)}\udce8`,
  });
});

test("a watch tells of them by the same names", async () => {
  const { rest, at, runtime } = await aRuntime();
  const answer = await fetch(`http://127.0.0.1:${runtime.restPort}/v1/watch/raw?recursive=true`);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => reader?.cancel());
  let text = "";
  const readTo = async (wanted: string) => {
    while (!text.includes(wanted)) {
      const { value = "", done } = await reader?.read() ?? { done: true };
      // The end of the test cancels the reader: without this the loop would never leave the thread.
      if (done) throw new Error(`Cannot find ${wanted} in ${text}`);
      text += value;
    }
  };
  await readTo("ready");
  writeFileSync(at("raw/new\xe9"), "");
  await readTo('"new\\udce9"');
  await rest("DELETE", "/v1/files/raw/%FF/%FE");
  await readTo('"\\udcff/\\udcfe"');
});

test("a form whose file has such a name is refused: the name would be another", async () => {
  const { runtime, at } = await aRuntime();
  const { headers, body } = formOf("NAME", "x");
  const form = Buffer.from(Buffer.from(body).toString("latin1").replace("NAME", "caf\xe9"), "latin1");
  const answer = await send(runtime.port, "POST", "/upload", { headers, body: form });
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("its name is not UTF-8")]);
  expect(namesIn(at(""))).toEqual(["raw"]);
  expect((await send(runtime.port, "GET", "/download/raw/caf%E9.txt")).text).toBe("x");
  expect(JSON.parse((await send(runtime.port, "GET", "/exists/raw/caf%E9.txt")).text)).toMatchObject({ exists: true });
  expect((await send(runtime.port, "GET", "/list/raw")).text).toContain('"caf\\udce9.txt"');
});
