/** @module */
import { expect, test } from "vitest";
import { isStatic } from "../../../dev/cluster/machine.ts";

/** A 64-bit little-endian ELF file of nothing but a header and program headers of the given types. */
function elf(types: number[]): Uint8Array {
  const bytes = new Uint8Array(64 + types.length * 56);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x7f454c46);
  view.setBigUint64(32, 64n, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, types.length, true);
  types.forEach((type, index) => view.setUint32(64 + index * 56, type, true));
  return bytes;
}

test.for(
  [
    ["only loads", elf([1, 1, 4]), true],
    ["asks for a loader", elf([6, 3, 1]), false],
    ["is a script", new TextEncoder().encode("#!/bin/sh\n".padEnd(80)), false],
    ["is too short", new Uint8Array(10), false],
  ] as const,
)("isStatic() of a program that %s is %s", ([, program, is]) => {
  expect(isStatic(program)).toBe(is);
});
