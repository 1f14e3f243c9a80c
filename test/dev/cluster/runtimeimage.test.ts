/** @module */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { librariesOf, packagesOf } from "../../../dev/cluster/runtimeimage.ts";

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

test("packagesOf() names what the runtime imports and what that needs, not what only others use", () => {
  const packages = packagesOf(fileURLToPath(new URL("../../../", import.meta.url)));
  expect(packages).toEqual(
    expect.arrayContaining(["hono", "tar-stream", "streamx", "es-module-lexer", "@lydell/node-pty"]),
  );
  expect(packages).not.toContain("@kubernetes/client-node");
  expect(packages).not.toContain("vitest");
});
