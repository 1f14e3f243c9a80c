/** What wants out of the root: paths, symlinks, and how each is to be taken. No test in here. @module */
import { Buffer } from "node:buffer";
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Symlinks in the root; `@` stands for the folder around it. */
const LINKS: Record<string, string> = {
  out: "../secret",
  outabs: "@/secret",
  outdots: "./.././secret",
  outslashes: "..//secret",
  outagain: "../root/../secret",
  up: "..",
  upabs: "@",
  upslash: "../",
  upup: "../..",
  outer: "../outer",
  outerabs: "@/outer",
  sibling: "../root-evil",
  siblingabs: "@/root-evil/secret",
  dangling: "../planted",
  danglingabs: "@/planted",
  danglingdeep: "../newfolder/planted",
  chain: "chain2",
  chain2: "deep/chain3",
  "deep/chain3": "../chain4",
  chain4: "../secret",
  "deep/a/up": "../../..",
  "deep/a/out": "../../../secret",
  throughself: "self/../../secret",
  throughup: "deep/a/up/secret",
  self: ".",
  etc: "/etc",
  passwd: "/etc/passwd",
  slash: "/",
  proc: "/proc/self/root",
  procdots: "/proc/self/../../etc",
  cwd: "/proc/self/cwd",
  fds: "/proc/self/fd",
  loop: "loop",
  ping: "pong",
  pong: "ping/../..",
  filedots: "file/../../secret",
  missingdots: "nothing/../../secret",
  "with blank": "..",
  "%2e%2e": "..",
  "...": "..",
  "-rf": "../secret",
  "ünï": "../secret",
};

/** Makes what lies around the root and must stay as it is. */
export function makeOutside(around: string): void {
  for (const folder of ["outer/inner", "root-evil"]) mkdirSync(join(around, folder), { recursive: true });
  for (const file of ["secret", "outer/secret", "outer/inner/secret", "root-evil/secret"]) {
    writeFileSync(join(around, file), `SECRET of ${file}`);
  }
}

/** Builds the root anew, with its files and links. */
export function makeInside(around: string): void {
  const root = join(around, "root");
  mkdirSync(root, { recursive: true });
  // Names need not be UTF-8.
  const inside = readdirSync(root, { encoding: "buffer" }).map((name) =>
    Buffer.concat([Buffer.from(`${root}/`), name])
  );
  for (const path of inside) rmSync(path, { recursive: true });
  mkdirSync(join(root, "deep/a/b"), { recursive: true });
  for (const file of ["file", "victim", "deep/file"]) writeFileSync(join(root, file), "inside");
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target.replace("@", around), join(root, name));
}

/** Everything outside the root, with kinds, contents, modes and times: equal before and after. */
export function pictureOf(around: string, folder = ""): string[] {
  return readdirSync(join(around, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (path === "root") return [];
    const { mode, mtimeMs, size } = lstatSync(join(around, path));
    const content = entry.isFile() ? readFileSync(join(around, path), "utf8") : "";
    return [`${path} ${mode} ${mtimeMs} ${size} ${content}`, ...entry.isDirectory() ? pictureOf(around, path) : []];
  });
}

/**
 * How a path is to be taken: `outside` is refused; `link` is a symlink that leads out, so what acts on the link itself
 * may succeed; `absolute` is refused on 8888 and relative to the root on 8080.
 */
export type Kind = "outside" | "link" | "absolute";

/** Paths as JSON, forms and tars carry them; URLs carry them percent-encoded. `@` as above. */
export const PATHS: [path: string, kind: Kind][] = [
  ...[
    "..",
    "../",
    "../..",
    "../secret",
    "../outer",
    "../outer/secret",
    "../outer/inner/secret",
    "../root-evil/secret",
    "../root-evil",
    "../planted",
    "../newfolder/planted",
    "./../secret",
    ".//..//secret",
    "deep/../../secret",
    "deep/a/../../../secret",
    "deep/a/b/../../../../secret",
    "deep/./.././../secret",
    "nothing/../../secret",
    "nothing/deeper/../../../secret",
    "file/../../secret",
    "../root/../secret",
    "../root/../../etc/passwd",
    "../../../../../../../../../../etc/passwd",
    `${"../".repeat(200)}etc/passwd`,
    "self/../secret",
    "self/self/../../secret",
    "up/secret",
    "up/outer/secret",
    "up/planted",
    "up/../etc/passwd",
    "upabs/secret",
    "upabs/outer/inner/secret",
    "upslash/secret",
    "upup/etc",
    "outer/secret",
    "outer/inner",
    "outer/inner/secret",
    "outer/planted",
    "outer/..",
    "outer/../secret",
    "outerabs/secret",
    "sibling/secret",
    "sibling/planted",
    "dangling/below",
    "danglingdeep/below",
    "deep/a/up/secret",
    "deep/a/up/outer/secret",
    "etc/passwd",
    "etc/hookbox-planted",
    "slash/etc/passwd",
    "slash/tmp/hookbox-planted",
    "proc/etc/passwd",
    "procdots/passwd",
    "cwd/package.json",
    "fds/0",
    "fds/1",
    "pong/secret",
    "with blank/secret",
    "%2e%2e/secret",
    ".../secret",
    ".../outer/planted",
  ].map((path): [string, Kind] => [path, "outside"]),
  ...["out", "outabs", "outdots", "outslashes", "outagain", "up", "upabs", "upslash", "upup", "outer", "outerabs"]
    .map((path): [string, Kind] => [path, "link"]),
  ...["sibling", "siblingabs", "dangling", "danglingabs", "danglingdeep", "chain", "chain2", "deep/chain3", "chain4"]
    .map((path): [string, Kind] => [path, "link"]),
  ...[
    "deep/a/up",
    "deep/a/out",
    "deep/../out",
    "self/out",
    "throughself",
    "throughup",
    "etc",
    "passwd",
    "slash",
    "proc",
  ]
    .map((path): [string, Kind] => [path, "link"]),
  ...["procdots", "cwd", "fds", "pong", "filedots", "missingdots", "with blank", "%2e%2e", "...", "-rf", "ünï", "./out"]
    .map((path): [string, Kind] => [path, "link"]),
  ...["@/secret", "@/outer/inner", "@/root-evil/secret", "@/planted", "/etc/passwd", "//etc/passwd", "/../secret"]
    .map((path): [string, Kind] => [path, "absolute"]),
  ["@/root/../secret", "outside"],
  ["@/root/out", "link"],
  ["@/root/up/secret", "outside"],
];

/** What follows the prefix in a URL, sent as it stands; all of it is to be refused or found nowhere. */
export const RAW: string[] = [
  "../secret",
  "..",
  "%2E%2E",
  "%2e%2e%2fsecret",
  "%2E%2E/secret",
  "..%2Fsecret",
  ".%2E/secret",
  "%2E./secret",
  "deep%2F..%2F..%2Fsecret",
  "deep/%2e%2e/%2e%2e/secret",
  "./../secret",
  "%2e/%2e%2e/secret",
  "..;/secret",
  "..%5Csecret",
  "..%00/secret",
  "%00",
  "out%00",
  "file%00/../../secret",
  "%252e%252e%252fsecret",
  "%c0%ae%c0%ae/secret",
  "%c0%af..%c0%afsecret",
  "%ff",
  "%",
  "%2",
  "%u002e%u002e/secret",
  "..%ef%bc%8fsecret",
  "%e2%80%a5/secret",
  "out?x=../",
  "up/secret#x",
  "up%2Fsecret",
  "out/",
  "out/.",
  "out%2F",
  "//../secret",
  `${"%2e%2e%2f".repeat(50)}etc%2fpasswd`,
  `${"a/".repeat(2100)}..`,
  "n".repeat(300),
];
