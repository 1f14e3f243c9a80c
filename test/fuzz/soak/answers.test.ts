/** Answers of a sandbox, byte by byte, to HTTP/1.1, HTTP/2 and upgrades, and what becomes of them when somebody tampers with them. @module */
import { Buffer } from "node:buffer";
import { type ClientHttp2Session, connect } from "node:http2";
import { createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers";
import { expect, test } from "vitest";
import fc, { runs } from "../../properties.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { corpus } from "../corpus.ts";
import { answerOf, type Ending, hostileAnswer } from "../hostileanswers.ts";
import { messageOf } from "../messages.ts";
import { listening, type Routers, startRouters, type StartSandbox, type Tried } from "../routers.ts";
import { statusOf, tryTampering } from "../tampering.ts";
import { PATIENCE_MS, speak } from "../wire.ts";

const CORPUS = corpus("answers").map(messageOf);

/** What the sandbox answers from now on, but for {@link NEXT}. */
const next = { text: "", ending: "ended" as Ending };
const NEXT = "/next-";

/** Connections that end if nothing more comes on them, and after how many milliseconds. */
const silent = new WeakMap<Socket, NodeJS.Timeout>();
const KEPT_MS = 5;

/** A sandbox that answers so, and a request for `/next-…` with its path. */
const startSandbox: StartSandbox = async (_, address) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    socket.on("error", () => {}).on("data", (chunk) => {
      clearTimeout(silent.get(socket));
      const [, path] = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(chunk.toString("latin1")) ?? [];
      if (path?.startsWith(NEXT)) {
        return void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`);
      }
      // The rest of a body.
      if (path !== undefined) answer(socket);
    });
  });
  return await listening(server, address, sockets);
};

function answer(socket: Socket): void {
  const bytes = Buffer.from(next.text, "latin1");
  if (next.ending === "kept") {
    socket.write(bytes);
    // A client that waits for the rest of such an answer would wait for long.
    silent.set(socket, setTimeout(() => socket.end(), KEPT_MS));
    return;
  }
  if (next.ending === "ended") socket.end(bytes);
  else if (next.ending === "halved") socket.end(bytes.subarray(0, bytes.length >> 1));
  else socket.write(bytes, () => socket.resetAndDestroy());
}

const UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n";
/** Ways to ask by HTTP/1.1; the connection ends with the answer. */
const WAYS = {
  get: { method: "GET", more: "Connection: close\r\n\r\n" },
  head: { method: "HEAD", more: "Connection: close\r\n\r\n" },
  post: { method: "POST", more: "Connection: close\r\nContent-Length: 4\r\n\r\nbody" },
  chunked: { method: "PUT", more: "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n" },
  upgrade: { method: "GET", more: `${UPGRADE}\r\n` },
} as const;
/** By HTTP/2: with a method, or a POST that is given up, with any code, before its answer or within. */
type Way = keyof typeof WAYS | `http2 ${"GET" | "HEAD" | "POST" | "left"}`;

/** Routers with a client each that speaks HTTP/2, where they do. */
interface Stage extends Routers {
  sessions: Map<Tried, ClientHttp2Session>;
}

async function start(): Promise<Stage> {
  const stage = await startRouters(makeTempFolder(), startSandbox, ["--upstream-max-retries", "3"]);
  const [, both] = stage.routers;
  const session = connect(`http://127.0.0.1:${both!.port}`).on("error", () => {});
  const stop = async () => {
    session.destroy();
    await stage.stop();
  };
  return { ...stage, stop, sessions: new Map([[both!, session]]) };
}

const headersOf = ({ backend }: Routers, { token }: Tried) => ({
  "X-Sandbox-ID": "demo",
  "X-Sandbox-Namespace": "team-a",
  "X-Sandbox-Port": String(backend),
  Authorization: `Bearer ${token}`,
});

async function askHttp1(stage: Routers, router: Tried, path: string, way: keyof typeof WAYS): Promise<string> {
  const { method, more } = WAYS[way];
  const lines = Object.entries(headersOf(stage, router)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return await speak(router.port, `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}${more}`, "stays");
}

/** Returns what comes as HTTP/1.1 would say it; `""` for a stream that ends without an answer. */
function askHttp2(stage: Stage, router: Tried, path: string, way: string): Promise<string> {
  const session = stage.sessions.get(router)!;
  const method = way === "left" ? "POST" : way;
  return new Promise((resolve, reject) => {
    const headers = { ":method": method, ":path": path, ...headersOf(stage, router) };
    const stream = session.request(headers, { endStream: method !== "POST" });
    let [head, body] = ["", ""];
    const late = setTimeout(() => reject(new Error("Cannot see the end of a stream")), PATIENCE_MS);
    stream.on("error", () => {}).on("data", (chunk) => body += chunk.toString("latin1"));
    stream.on("response", (got) => {
      const lines = Object.entries(got).flatMap(([name, value]) =>
        [value].flat().map((each) => `${name}: ${each}\r\n`)
      );
      head = `HTTP/1.1 ${got[":status"]} \r\n${lines.join("")}\r\n`;
    });
    stream.once("close", () => {
      clearTimeout(late);
      resolve(head + body);
    });
    if (way === "POST") stream.end("body");
    if (way !== "left") return;
    const leave = () => stream.close(count % CODES);
    stream.write("bo");
    if (count % 2 === 0) setImmediate(leave);
    else stream.once("response", leave).once("trailers", leave);
  });
}

async function ask(stage: Stage, router: Tried, path: string, way: Way): Promise<string> {
  const [, http2] = /^http2 (.*)$/.exec(way) ?? [];
  return http2
    ? await askHttp2(stage, router, path, http2)
    : await askHttp1(stage, router, path, way as keyof typeof WAYS);
}

let count = 0;
/** Of HTTP/2 for the end of a stream. */
const CODES = 14;

/** Asks for the answer, then for a good one by the same router, and holds the router to what it owes its clients. */
async function check(stage: Stage, router: Tried, way: Way): Promise<string> {
  stage.lines.length = 0;
  const found = await ask(stage, router, "/x", way);
  const head = (found.split("\r\n\r\n")[0] ?? "").replace(/^set-cookie/gim, "set-cookie");
  // What the router keeps of its own it keeps from every sandbox.
  if (router.keepsToken) expect(head).not.toMatch(/^set-cookie:[\s=]*pass\s*(=|;|$)/m);
  const path = `${NEXT}${count++}`;
  expect(await ask(stage, router, path, way.startsWith("http2") ? "http2 GET" : "get")).toMatch(
    new RegExp(`^HTTP/1.1 200 .*${path}$`, "s"),
  );
  expect(stage.lines.filter((line) => line.startsWith('["error"'))).toEqual([]);
  return statusOf(found);
}

const drawn = fc.record({
  answer: hostileAnswer,
  way: fc.constantFrom<Way>(
    "get",
    "get",
    "head",
    "post",
    "chunked",
    "upgrade",
    "http2 GET",
    "http2 GET",
    "http2 HEAD",
    "http2 POST",
    "http2 left",
  ),
  router: fc.nat(1),
});

test(
  "2,000 answers that somebody tampered with: the router lives, each client is answered or ended, and so is the next",
  async () => {
    const statuses = await tryTampering({
      start,
      drawn,
      tries: 2000,
      input(stage, { answer, way, router: which }) {
        const router = stage.routers[way.startsWith("http2") ? 1 : which]!;
        const text = answerOf(CORPUS[answer.at % CORPUS.length]!, answer);
        const { ending } = answer;
        const send = async () => {
          Object.assign(next, { text, ending });
          return await check(stage, router, way);
        };
        return { to: `a client of router ${which}, by ${way}, ${ending}`, text, how: "stays", send };
      },
      async after(stage) {
        for (const router of stage.routers.slice(0, 2)) await check(stage, router, "get");
      },
    });
    for (const status of ["200", "502"]) expect([status, statuses[status]]).toEqual([status, expect.any(Number)]);
    expect(statuses["200"]).toBeGreaterThan(runs(300));
    expect(statuses["502"]).toBeGreaterThan(runs(200));
  },
  runs(300_000),
);
