/** A root in a temporary folder, and a secret outside of it. @module */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { createRoot, type Root } from "../../packages/runtime/confine.ts";

/** A root that goes when the test ends. */
export interface TestRoot {
  root: Root;
  /** The folder around the root. */
  around: string;
  /** Path of a file in the root. */
  at(path: string): string;
}

/** Makes a root with these files: a path that ends in "/" is a folder. The file `secret` is next to it. */
export async function makeRoot(files: Record<string, string> = {}): Promise<TestRoot> {
  const around = await realpath(await mkdtemp(join(tmpdir(), "runtime-")));
  onTestFinished(() => rm(around, { recursive: true, force: true }));
  await writeFile(join(around, "secret"), "SECRET");
  const root = await createRoot(join(around, "root"));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root.path, path.endsWith("/") ? path : dirname(path)), { recursive: true });
    if (!path.endsWith("/")) await writeFile(join(root.path, path), content);
  }
  return { root, around, at: (path) => join(root.path, path) };
}

/** Gives these pieces one after another, as a body would. */
export async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(new TextEncoder().encode(text));
}

/** Reads a source to its end as text. */
export async function textOf(source: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return new TextDecoder().decode(Uint8Array.from(parts.flatMap((part) => [...part])));
}
