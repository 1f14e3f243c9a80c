/** download() from a sandbox that wants to write elsewhere: everything around the target stays as it was. @module */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Header, pack } from "tar-stream";
import { expect, test } from "vitest";
import { InvalidArgumentError, SandboxError } from "../../../packages/sdk/errors.ts";
import { createTransferCount } from "../../../packages/sdk/files/transfer.ts";
import { unpackInto } from "../../../packages/sdk/disk/unpack.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { localTransport, OBJECT } from "../localtransport.ts";

type TarEntry = Partial<Header> & { name: string; content?: string };

async function tarOf(entries: TarEntry[]): Promise<Uint8Array<ArrayBuffer>> {
  const tar = pack();
  for (const { content = "", ...header } of entries) tar.entry(header, content);
  tar.finalize();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of tar as AsyncIterable<Uint8Array<ArrayBuffer>>) parts.push(part);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const FOLDER = { name: "d", path: "d", type: "directory", size: 0, mode: "0755", modified_at: "2026-01-01T00:00:00Z" };

/** Files of a sandbox that answers every stat with a folder, or what is given, and every download with this. */
function filesThatSend(content: BodyInit, stat: Partial<typeof FOLDER> = {}) {
  const headers = { "Content-Type": "application/octet-stream" };
  const fetch = (_: number, path: string) =>
    Promise.resolve(
      path.startsWith("/v1/stat/") ? Response.json({ ...FOLDER, ...stat }) : new Response(content, { headers }),
    );
  return createFiles(createRuntimeClient({ ...localTransport(0), fetch }, OBJECT, undefined));
}

/** A target next to a folder that must not be touched; in the target is a symlink to it, of the user's own. */
function aTarget() {
  const around = makeTempFolder();
  mkdirSync(join(around, "beside"));
  mkdirSync(join(around, "to"));
  writeFileSync(join(around, "beside/kept"), "kept");
  symlinkSync("../beside", join(around, "to/own"));
  const isUntouched = () => {
    expect(readdirSync(around).sort()).toEqual(["beside", "to"]);
    expect(readdirSync(join(around, "beside"))).toEqual(["kept"]);
    expect(readFileSync(join(around, "beside/kept"), "utf8")).toBe("kept");
  };
  return { around, to: join(around, "to"), isUntouched };
}

const link = (name: string, linkname: string): TarEntry => ({ name, type: "symlink", linkname });
const planted = (name: string): TarEntry => ({ name, content: "planted" });

test.for<[string, TarEntry[]]>([
  ["a name with ..", [planted("../beside/kept")]],
  ["a name with .. within", [planted("a/../../beside/kept")]],
  ["a folder's name with ..", [{ name: "../beside/new/", type: "directory" }]],
  ["an absolute name", [planted("/tmp/hookbox-planted")]],
  ["a file through the user's own link", [planted("own/kept")]],
  ["a folder through the user's own link", [{ name: "own/new/", type: "directory" }]],
  ["a link through the user's own link", [link("own/new", "kept")]],
  ["a folder in the place of a link", [link("a", "."), { name: "a/", type: "directory" }, planted("a/f")]],
  ["a file through a link of its own", [{ name: "real/", type: "directory" }, link("l", "real"), planted("l/f")]],
])("%s ends the download", async ([, entries]) => {
  const { to, isUntouched } = aTarget();
  const tar = await tarOf([planted("before"), ...entries, planted("after")]);
  const error = await filesThatSend(tar).download("d", to).catch((error) => error);
  expect(error).toBeInstanceOf(SandboxError);
  expect(["BAD_ARCHIVE", undefined]).toContain(error.reason);
  expect(readFileSync(join(to, "before"), "utf8")).toBe("planted");
  expect(readdirSync(to)).not.toContain("after");
  isUntouched();
});

test.for<[string, TarEntry[]]>([
  ["a link to ..", [link("l", ".."), planted("x")]],
  ["an absolute link", [link("l", "/etc")]],
  ["a link that leads out through another", [
    { name: "s/t/", type: "directory" },
    link("s/t/up", "../.."),
    link("l", "s/t/up/../beside"),
  ]],
  ["a link with .. behind a name", [link("l", "a/../../beside")]],
  ["a hard link", [{ name: "l", type: "link", linkname: "../beside/kept" }]],
  ["a device", [{ name: "l", type: "character-device" }]],
  ["a pipe", [{ name: "l", type: "fifo" }]],
])("%s is skipped and told of", async ([, entries]) => {
  const { to, isUntouched } = aTarget();
  const { skipped } = await filesThatSend(await tarOf([...entries, planted("after")])).download("d", to);
  expect(skipped).toEqual([{ path: "l", reason: expect.stringMatching(/^it (leads out of the folder|is a )/) }]);
  expect(readdirSync(to)).not.toContain("l");
  expect(readFileSync(join(to, "after"), "utf8")).toBe("planted");
  isUntouched();
});

test("links within the folder are kept; a file that takes a link's place does not go through it", async () => {
  const { to, isUntouched } = aTarget();
  const entries = [link("a/b/l", "../../own"), planted("own"), link("a/b/l", "../c"), {
    ...planted("s"),
    mode: 0o4755,
  }];
  const { links, files } = await filesThatSend(await tarOf(entries)).download("d", to);
  expect([links, files, readlinkSync(join(to, "a/b/l"))]).toEqual([2, 2, "../c"]);
  expect(readFileSync(join(to, "own"), "utf8")).toBe("planted");
  isUntouched();
});

test("of a mode the permission bits alone reach this disk, of an owner nothing, and no device is made", async () => {
  const { to } = aTarget();
  const kindOf = (path: string) => {
    const { mode, uid, gid } = statSync(join(to, path));
    return [path, (mode & 0o7777).toString(8), uid, gid];
  };
  const me = [process.getuid?.(), process.getgid?.()];
  for (const mode of ["04755", "02755", "01777", "07755", "06644", "0755"]) {
    const file = filesThatSend("abc", { name: "tool", path: "tool", type: "file", size: 3, mode });
    expect((await file.stat("tool")).mode.toString(8)).toBe(mode.slice(-3));
    await file.download("tool", join(to, mode));
    expect(kindOf(mode)).toEqual([mode, mode.slice(-3), ...me]);
  }
  const owner = { uid: 12_345, gid: 12_345, uname: "somebody", gname: "somebody" };
  const { skipped } = await filesThatSend(
    await tarOf([
      { name: "d/", type: "directory", mode: 0o7755, ...owner },
      { name: "d/tool", mode: 0o6755, content: "abc", ...owner },
      { name: "d/null", type: "character-device", devmajor: 1, devminor: 3 },
      { name: "d/disk", type: "block-device", devmajor: 8, devminor: 0 },
      { name: "d/pipe", type: "fifo" },
      { name: "d/again", type: "link", linkname: "d/tool" },
      link("d/out", "/etc/passwd"),
    ]),
  ).download("d", join(to, "all"));
  expect(kindOf("all/d")).toEqual(["all/d", "755", ...me]);
  expect(kindOf("all/d/tool")).toEqual(["all/d/tool", "755", ...me]);
  expect(readdirSync(join(to, "all/d"))).toEqual(["tool"]);
  expect(skipped.map(({ path }) => path)).toEqual(["null", "disk", "pipe", "again", "out"].map((name) => `d/${name}`));
});

test("half a tar, or none, is reported; the file that was being written is not there", async () => {
  const whole = await tarOf([{ name: "f", content: "x".repeat(5000) }]);
  for (const bytes of [whole.slice(0, 3000), new Uint8Array(2048).fill(65)]) {
    const { to, isUntouched } = aTarget();
    const failed = filesThatSend(bytes).download("d", to);
    await expect(failed).rejects.toThrow('Cannot download "d": the sandbox sent no whole tar');
    expect(readdirSync(to)).toEqual(["own"]);
    isUntouched();
  }
});

test("what is remembered of a tar has an end; a folder that is named again and again is remembered once", async () => {
  const remembered = async (entries: TarEntry[]) => {
    const tally = createTransferCount(undefined, undefined);
    const bytes = await tarOf(entries);
    const options = { folder: makeTempFolder(), filter: undefined, tally, mostCharacters: 100_000 };
    await unpackInto(new Blob([bytes]).stream(), options);
    return tally.done;
  };
  const many = (make: (i: number) => TarEntry) => Array.from({ length: 500 }, (_, i) => make(i));
  const error = "the sandbox sent more folders, and what is left out, than can be remembered";
  await expect(remembered(many(() => ({ name: "pipe", type: "fifo" })))).rejects.toThrow(error);
  await expect(remembered(many((i) => link(`link-${i}`, "/etc/passwd")))).rejects.toThrow(error);
  await expect(remembered(many((i) => ({ name: `folder-${i}/`, type: "directory" })))).rejects.toThrow(error);
  expect(await remembered(many(() => ({ name: "folder/", type: "directory" })))).toMatchObject({ directories: 500 });
  expect(await remembered(many((i) => planted(`file-${i}`)))).toMatchObject({ files: 500 });
});

test("what is put into a folder has the name that was asked for, whatever the sandbox says", async () => {
  const { around, to, isUntouched } = aTarget();
  const into = `${to}/`;
  await filesThatSend("planted", { type: "file", path: "sub/.bashrc" }).download("a/notes.txt", into);
  await filesThatSend(await tarOf([planted(".ssh/authorized_keys")])).download("plain.txt", into);
  expect(readdirSync(to).sort()).toEqual(["notes.txt", "own", "plain.txt"]);
  expect(readFileSync(join(to, "plain.txt/.ssh/authorized_keys"), "utf8")).toBe("planted");
  for (const path of ["", "/", ".", "a/.."]) {
    const file = filesThatSend("planted", { type: "file", path: "evil" }).download(path, into);
    await expect(file, path).rejects.toThrow(InvalidArgumentError);
  }
  await expect(filesThatSend(await tarOf([planted("evil")])).download("a/..", into)).rejects.toThrow("no name for it");
  isUntouched();
  await filesThatSend(await tarOf([planted("root")])).download("/", `${around}/new/`);
  expect(readdirSync(join(around, "new"))).toEqual(["root"]);
});
