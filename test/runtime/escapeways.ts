/** Every way into the runtime that takes a path, and whether a path got out by it. Asserts nothing. @module */
import { Buffer } from "node:buffer";
import { pack } from "tar-stream";
import { type Kind, makeInside, pictureOf } from "./escapes.ts";
import { type Answer, formOf, type Sent } from "./servers.ts";

/** A tar of one entry. */
async function tarOf(header: Parameters<ReturnType<typeof pack>["entry"]>[0]): Promise<Uint8Array> {
  const tar = pack();
  tar.entry(header, header.type === "file" ? "planted" : "");
  tar.finalize();
  const parts: Uint8Array[] = [];
  for await (const part of tar as AsyncIterable<Uint8Array>) parts.push(part);
  return Buffer.concat(parts);
}

/** Sends a request to one of the runtime's ports, its path as it stands. */
export type Sender = (method: string, path: string, sent?: Sent) => Promise<Answer>;

/** One thing to do with a path. `own`: done to a symlink itself, so that it may succeed on one. */
export interface Surface {
  name: string;
  /** Takes an absolute path as relative to the root. */
  relative?: boolean;
  own?: boolean;
  /** Only looks: what it may have changed is looked for once for all of these. */
  looks?: boolean;
  act(path: string, encoded: string): Promise<Answer>;
}

const json = (value: unknown) => ({ body: JSON.stringify(value) });

/** Every way in; `rest` sends to port 8080, `legacy` to 8888. */
export const surfacesOf = (rest: Sender, legacy: Sender): Surface[] => [
  { name: "GET file or list", looks: true, relative: true, act: (_, path) => rest("GET", `/v1/files/${path}`) },
  { name: "HEAD", looks: true, relative: true, act: (_, path) => rest("HEAD", `/v1/files/${path}`) },
  { name: "stat", looks: true, relative: true, own: true, act: (_, path) => rest("GET", `/v1/stat/${path}`) },
  { name: "tar down", looks: true, relative: true, act: (_, path) => rest("GET", `/v1/archive/${path}`) },
  {
    name: "watch",
    looks: true,
    relative: true,
    act: (_, path) => rest("GET", `/v1/watch/${path}?recursive=true`, { upTo: 1 }),
  },
  { name: "download", looks: true, act: (_, path) => legacy("GET", `/download/${path}`) },
  { name: "list", looks: true, act: (_, path) => legacy("GET", `/list/${path}`) },
  { name: "exists", looks: true, relative: true, act: (_, path) => legacy("GET", `/exists/${path}`) },
  { name: "PUT", relative: true, act: (_, path) => rest("PUT", `/v1/files/${path}`, { body: "planted" }) },
  { name: "PUT form", relative: true, act: (_, path) => rest("PUT", `/v1/files/${path}`, formOf("x", "planted")) },
  { name: "upload", act: (path) => legacy("POST", "/upload", formOf(path, "planted")) },
  { name: "make folder", relative: true, act: (_, path) => rest("PUT", `/v1/folders/${path}?mode=0777`) },
  {
    name: "rename from",
    relative: true,
    own: true,
    act: (from) => rest("POST", "/v1/rename", json({ from, to: "stolen", replace: true })),
  },
  {
    name: "rename to",
    relative: true,
    own: true,
    act: (to) => rest("POST", "/v1/rename", json({ from: "victim", to, replace: true })),
  },
  { name: "delete", relative: true, own: true, act: (_, path) => rest("DELETE", `/v1/files/${path}`) },
  {
    name: "delete all",
    relative: true,
    own: true,
    act: (_, path) => rest("DELETE", `/v1/files/${path}?recursive=true`),
  },
  {
    name: "tar up into",
    relative: true,
    act: async (_, path) =>
      rest("PUT", `/v1/archive/${path}`, { body: await tarOf({ name: "planted", type: "file" }) }),
  },
  {
    name: "tar entry",
    own: true,
    act: async (name) => rest("PUT", "/v1/archive/", { body: await tarOf({ name, type: "file" }) }),
  },
  {
    name: "tar folder",
    act: async (name) => rest("PUT", "/v1/archive/", { body: await tarOf({ name: `${name}/`, type: "directory" }) }),
  },
  {
    name: "tar symlink to",
    act: async (linkname) =>
      rest("PUT", "/v1/archive/", { body: await tarOf({ name: "made", type: "symlink", linkname }) }),
  },
];

function mayWork(surface: Surface, kind: Kind): boolean {
  return (kind === "link" && surface.own === true) || (kind === "absolute" && surface.relative === true);
}

/** Tries a path of the corpus on every surface; returns what came of those by which it got anywhere. */
export async function escapesOf(
  around: string,
  surfaces: readonly Surface[],
  [template, kind]: [path: string, kind: Kind],
): Promise<string[]> {
  makeInside(around);
  const path = template.replace("@", around);
  const before = pictureOf(around).join();
  const escaped: string[] = [];
  const note = (surface: Surface, { status, text }: Answer, changed: boolean) => {
    const worked = status < 400 && !mayWork(surface, kind);
    if (tells(text) || worked || changed || status >= 500) {
      escaped.push(`${surface.name}: ${status} ${text.slice(0, 99)}`);
    }
  };
  const act = (surface: Surface) => surface.act(path, encodeURIComponent(path).replaceAll(".", "%2E"));
  const looking = surfaces.filter(({ looks }) => looks);
  const answers = await Promise.all(looking.map(act));
  const changed = pictureOf(around).join() !== before;
  looking.forEach((surface, index) => note(surface, answers[index] as Answer, changed));
  for (const surface of surfaces.filter(({ looks }) => !looks)) {
    const answer = await act(surface);
    const changed = pictureOf(around).join() !== before;
    note(surface, answer, changed);
    if (answer.status < 400 || changed) makeInside(around);
  }
  return escaped;
}

/** Tries a path that goes into the request as it stands; returns the same. */
export async function rawEscapesOf(around: string, rest: Sender, legacy: Sender, raw: string): Promise<string[]> {
  makeInside(around);
  const before = pictureOf(around);
  const asked: [string, () => Promise<Answer>][] = [
    ["GET", () => rest("GET", `/v1/files/${raw}`)],
    ["HEAD", () => rest("HEAD", `/v1/files/${raw}`)],
    ["stat", () => rest("GET", `/v1/stat/${raw}`)],
    ["tar", () => rest("GET", `/v1/archive/${raw}`)],
    ["download", () => legacy("GET", `/download/${raw}`)],
    ["list", () => legacy("GET", `/list/${raw}`)],
    ["exists", () => legacy("GET", `/exists/${raw}`)],
    ["PUT", () => rest("PUT", `/v1/files/${raw}`, { body: "planted" })],
    ["tar up", () => rest("PUT", `/v1/archive/${raw}`, { body: "planted" })],
    ["folder", () => rest("PUT", `/v1/folders/${raw}`)],
    ["DELETE", () => rest("DELETE", `/v1/files/${raw}?recursive=true`)],
  ];
  const escaped: string[] = [];
  for (const [name, ask] of asked) {
    const { status, text } = await ask();
    const changed = pictureOf(around).join() !== before.join();
    if (tells(text) || changed || status >= 500) escaped.push(`${name}: ${status} ${text.slice(0, 99)}`);
  }
  return escaped;
}

/** Something from outside the root is in the answer. */
function tells(text: string): boolean {
  return text.includes("SECRET of") || /root:.*:0:0:/.test(text);
}
