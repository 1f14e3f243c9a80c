/** @module */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { librariesOf } from "../../../dev/cluster/images.ts";
import { bundleRuntime, runtimeImage } from "../../../dev/cluster/runtimeimage.ts";
import { makeTempFolder } from "../../tempfolder.ts";

test("librariesOf() reads the libraries and the loader, and no more", () => {
  const text = [
    "\tlinux-vdso.so.1 (0x00007fabbd252000)",
    "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fabbcf20000)",
    "\tlibgone.so.1 => not found",
    "\t/lib64/ld-linux-x86-64.so.2 (0x00007fabbd254000)",
  ];
  expect(librariesOf(text.join("\n"))).toEqual(["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
  expect(librariesOf("\tstatically linked\n")).toEqual([]);
});

test("runtimeImage() has the bundle, its kernels and the native modules, and no other package", async () => {
  const dist = await bundleRuntime(makeTempFolder());
  const python = ["cells", "charts", "display", "libraries", "shell"].map((name) => `hookbox_${name}.py`);
  const kernels = ["kernel.java", "kernel.mjs", "kernel.py", "kernel.r", "kernel.sh"];
  expect(readdirSync(dist).sort()).toEqual([...python, ...kernels, "main.js"]);
  const busybox = join(makeTempFolder(), "busybox");
  writeFileSync(busybox, "#!/bin/sh\necho ls\n", { mode: 0o755 });
  const { files, entrypoint } = runtimeImage({ dist, busybox, tini: undefined });
  const own = files.map(({ path }) => path).filter((path) => path.startsWith("/opt/hookbox/")).sort();
  expect(own).toEqual([
    ...python.map((name) => `/opt/hookbox/${name}`),
    ...kernels.map((name) => `/opt/hookbox/${name}`),
    "/opt/hookbox/main.js",
    `/opt/hookbox/node_modules/@koromix/koffi-${process.platform}-${process.arch}`,
    "/opt/hookbox/node_modules/@lydell/node-pty",
    `/opt/hookbox/node_modules/@lydell/node-pty-${process.platform}-${process.arch}`,
    "/opt/hookbox/node_modules/koffi",
    "/opt/hookbox/package.json",
  ]);
  const git = files.filter(({ path }) => path.startsWith("/usr/bin/git")).map(({ path }) => path);
  expect(git).toEqual(
    existsSync("/usr/bin/git") ? ["", "-upload-pack", "-receive-pack"].map((end) => `/usr/bin/git${end}`) : [],
  );
  expect(entrypoint).toEqual(["/usr/local/bin/node", "/opt/hookbox/main.js"]);
});
