/** Builds an entry of a tar that tar-stream cannot write. @module */
import { Buffer } from "node:buffer";

const BLOCK = 512;

/** The header of an entry. */
export interface BlockHeader {
  /** At most 99 characters of ASCII. */
  name: string;
  /** One character. */
  type: string;
  /** Format and version: `ustar\0` and `00` as in POSIX, or GNU's. */
  magic: string;
}

/** Returns header and content, padded to whole blocks. Source: POSIX, pax, "ustar Interchange Format". */
export function tarBlock({ name, type, magic }: BlockHeader, content: Buffer): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name);
  block.write("0000644\0" + "0000000\0".repeat(2), 100);
  block.write(`${content.length.toString(8).padStart(11, "0")}\0${"0".repeat(11)}\0`, 124);
  block.write(`        ${type}`, 148);
  block.write(magic, 257);
  const sum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([block, content, Buffer.alloc(-content.length & (BLOCK - 1))]);
}
