/** The corpus: real requests and objects to begin with, and every input that ever found a fault (`found-…`). @module */
import { join } from "node:path";
import { readdirSync, readFileSync } from "node:fs";

/** One file of the corpus. */
export interface Entry {
  /** Below the corpus' folder. */
  name: string;
  text: string;
}

const CORPUS = new URL("corpus/", import.meta.url);

/** Reads the files of a folder of the corpus and of those below it, in order of name. */
export function corpus(folder: string): Entry[] {
  const files = readdirSync(new URL(`${folder}/`, CORPUS), { recursive: true, withFileTypes: true });
  return files.filter((file) => file.isFile()).map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return { name: path.slice(CORPUS.pathname.length), text: readFileSync(path, "utf8") };
  }).sort((a, b) => a.name < b.name ? -1 : 1);
}
