/** Nothing gets out of the root: every hostile path through every surface, on real sockets and real folders. @module */
import { Buffer } from "node:buffer";
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "tar-stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRoot } from "../../runtime/confine.ts";
import type { Runtime } from "../../runtime/start.ts";
import { type Kind, makeInside, makeOutside, PATHS, pictureOf, RAW } from "./escapes.ts";
import { type Answer, formOf, send, startTestRuntime } from "./servers.ts";

let around: string;
let runtime: Runtime;

beforeAll(async () => {
  around = join(realpathSync(mkdtempSync(join(tmpdir(), "escape-"))), "around");
  makeInside(around);
  makeOutside(around);
  runtime = await startTestRuntime(join(around, "root"));
});

afterAll(async () => {
  await runtime.stop();
  rmSync(join(around, ".."), { recursive: true });
  expect(existsSync("/etc/hookbox-planted")).toBe(false);
  expect(existsSync("/tmp/hookbox-planted")).toBe(false);
});

/** A tar of one entry. */
async function tarOf(header: Parameters<ReturnType<typeof pack>["entry"]>[0]): Promise<Uint8Array> {
  const tar = pack();
  tar.entry(header, header.type === "file" ? "planted" : "");
  tar.finalize();
  const parts: Uint8Array[] = [];
  for await (const part of tar as AsyncIterable<Uint8Array>) parts.push(part);
  return Buffer.concat(parts);
}

const rest = (method: string, path: string, sent = {}) => send(runtime.restPort, method, path, sent);
const legacy = (method: string, path: string, sent = {}) => send(runtime.port, method, path, sent);

/** One thing to do with a path. `own`: done to a symlink itself, so that it may succeed on one. */
interface Surface {
  name: string;
  /** Takes an absolute path as relative to the root. */
  relative?: boolean;
  own?: boolean;
  act(path: string, encoded: string): Promise<Answer>;
}

const json = (value: unknown) => ({ body: JSON.stringify(value) });

const SURFACES: Surface[] = [
  { name: "GET file or list", relative: true, act: (_, path) => rest("GET", `/v1/files/${path}`) },
  { name: "HEAD", relative: true, act: (_, path) => rest("HEAD", `/v1/files/${path}`) },
  { name: "stat", relative: true, own: true, act: (_, path) => rest("GET", `/v1/stat/${path}`) },
  { name: "tar down", relative: true, act: (_, path) => rest("GET", `/v1/archive/${path}`) },
  { name: "watch", relative: true, act: (_, path) => rest("GET", `/v1/watch/${path}?recursive=true`, { upTo: 1 }) },
  { name: "download", act: (_, path) => legacy("GET", `/download/${path}`) },
  { name: "list", act: (_, path) => legacy("GET", `/list/${path}`) },
  { name: "exists", relative: true, act: (_, path) => legacy("GET", `/exists/${path}`) },
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

test("the corpus is no smaller than it was", () => {
  expect(new Set(PATHS.map(([path]) => path)).size).toBeGreaterThanOrEqual(100);
  expect(new Set(RAW).size).toBeGreaterThanOrEqual(35);
});

test.for(PATHS)("%j gets nowhere", async ([template, kind]) => {
  makeInside(around);
  const path = template.replace("@", around);
  const before = pictureOf(around);
  const escaped: string[] = [];
  for (const surface of SURFACES) {
    const { status, text } = await surface.act(path, encodeURIComponent(path).replaceAll(".", "%2E"));
    const secret = text.includes("SECRET of") || /root:.*:0:0:/.test(text);
    const worked = status < 400 && !mayWork(surface, kind);
    const changed = pictureOf(around).join() !== before.join();
    if (secret || worked || changed || status >= 500) escaped.push(`${surface.name}: ${status} ${text.slice(0, 99)}`);
    if (status < 400 || changed) makeInside(around);
  }
  expect(escaped).toEqual([]);
});

test.for(PATHS)("resolve(%j) refuses", async ([template]) => {
  makeInside(around);
  const root = await createRoot(join(around, "root"));
  const path = template.replace("@", around);
  await expect(root.resolve(path, { missing: "allow" })).rejects.toThrow(/^Cannot use|^Cannot follow/);
  await expect(root.resolve(path)).rejects.toThrow(/^Cannot/);
});

test.for(RAW)("/%s gets nowhere as it stands", async (raw) => {
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
  for (const [name, ask] of asked) {
    const { status, text } = await ask();
    expect([name, text]).toEqual([name, expect.not.stringMatching(/SECRET of|root:.*:0:0:/)]);
    expect([name, status]).toEqual([name, expect.toSatisfy((status: number) => status < 500)]);
    expect([name, pictureOf(around)]).toEqual([name, before]);
  }
});
