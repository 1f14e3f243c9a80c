/** Calls of the runtime on its ports, byte by byte, and what becomes of them when somebody tampers with them. @module */
import { expect, onTestFinished, test } from "vitest";
import fc, { runs } from "../../properties.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { changed, changes } from "../changes.ts";
import { corpus } from "../corpus.ts";
import { changedMessage, filled, type Message, messageChanges, messageOf, textOf } from "../messages.ts";
import { OUTSIDE, type Runtimes, startRuntimes } from "../runtimes.ts";
import { CANARY } from "../secrets.ts";
import { statusOf, tryTampering } from "../tampering.ts";
import { garbled, garbling, seldom } from "../texts.ts";
import { type Leaving, leaving, speak } from "../wire.ts";

/** Where calls of a folder of the corpus go. */
const PORTS = { legacy: ["port"], rest: ["restPort"], rpc: ["grpcPort", "restPort"], envd: ["envdPort"] } as const;
type Folder = keyof typeof PORTS;

const CORPUS = corpus("runtime").map((entry) => {
  return { name: entry.name, folder: entry.name.split("/")[1] as Folder, message: messageOf(entry) };
});
const TARGETS = `
  /v1/files/ /v1/files /v1/files/.. /v1/files/%2e%2e%2foutside.txt /v1/files/link /v1/files//a.txt
  /v1/files/a.txt/b /v1/files/folder%00 /v1/stat/ /v1/archive/ /v1/archive/link /v1/watch/none /v1/disk
  /v1/nothing /v1/folders/.. /v1/folders/a.txt /v1/health /download/../outside.txt /list/ /download/link
  /exists/%2e%2e%2foutside.txt /list/%ff /download/% /v1/files/folder?limit=x&offset=-1
  /process.v1.ProcessService/None /none.v1.None/List /hookbox.runtime.v1.ProcessesService/Wait
  /files?path=../outside.txt /files?path=link /files?path=%00&username=root /filesystem.Filesystem/Remove
  /filesystem.Filesystem/WatchDir /process.Process/Update /process.Process/CloseStdin //health /init
  /hookbox.runtime.v1.ProcessesService/Remove /hookbox.runtime.v1.ProcessesService/GetMetrics?x=1
`.trim().split(/\s+/);

/** Says it, and holds the runtime to what it owes every caller. */
async function check({ lines, token }: Runtimes, port: number, text: string, how: Leaving): Promise<string> {
  lines.length = 0;
  const answer = await speak(port, text, how);
  for (const secret of [CANARY, token]) {
    expect(lines.join("\n").includes(secret), `a secret in ${lines}`).toBe(false);
    expect(answer.includes(secret), `a secret in ${answer}`).toBe(false);
  }
  return statusOf(answer);
}

/** Puts the secret where the corpus has it; wherever else a change has put it, it would be none. */
function withSecret(message: Message): Message {
  const body = message.body.replaceAll('"KEY":"{SECRET}"', `"KEY":"${CANARY}"`).replaceAll("{SECRET}", "plain");
  return { ...message, body };
}

test("what there is to begin with is answered as it should be, with the token, and where there is none", async () => {
  const stage = await startRuntimes(makeTempFolder());
  onTestFinished(() => stage.stop());
  const statuses: Record<string, string> = {};
  for (const { name, folder, message } of CORPUS) {
    const found: string[] = [];
    for (const runtime of stage.runtimes) {
      const text = textOf(withSecret(filled(message, 0, stage.token)));
      for (const port of PORTS[folder]) found.push(await check(stage, runtime[port] ?? 0, text, "patient"));
    }
    statuses[name] = found.join(" ");
  }
  expect(statuses).toMatchInlineSnapshot(`
    {
      "runtime/envd/connect.http": "200 200",
      "runtime/envd/events.http": "404 404",
      "runtime/envd/health.http": "204 204",
      "runtime/envd/input.http": "404 404",
      "runtime/envd/list.http": "200 200",
      "runtime/envd/make.http": "200 200",
      "runtime/envd/metrics.http": "200 200",
      "runtime/envd/move.http": "404 404",
      "runtime/envd/processes.http": "200 200",
      "runtime/envd/read.http": "206 206",
      "runtime/envd/remove.http": "200 200",
      "runtime/envd/signal.http": "404 404",
      "runtime/envd/start.http": "200 200",
      "runtime/envd/stat.http": "200 200",
      "runtime/envd/stream.http": "200 200",
      "runtime/envd/upload.http": "200 200",
      "runtime/envd/watch.http": "200 200",
      "runtime/envd/watcher.http": "200 200",
      "runtime/envd/write.http": "200 200",
      "runtime/legacy/download.http": "206 206",
      "runtime/legacy/execute.http": "200 200",
      "runtime/legacy/exists.http": "200 200",
      "runtime/legacy/list.http": "200 200",
      "runtime/legacy/upload.http": "200 200",
      "runtime/rest/activity.http": "200 200",
      "runtime/rest/bind.http": "200 403",
      "runtime/rest/folder.http": "201 201",
      "runtime/rest/list.http": "200 200",
      "runtime/rest/metadata.http": "200 200",
      "runtime/rest/pack.http": "200 200",
      "runtime/rest/read.http": "206 206",
      "runtime/rest/remove.http": "404 404",
      "runtime/rest/rename.http": "404 404",
      "runtime/rest/stat.http": "200 200",
      "runtime/rest/unpack.http": "400 400",
      "runtime/rest/watch.http": "200 200",
      "runtime/rest/write.http": "204 204",
      "runtime/rpc/attach.http": "200 200 200 200",
      "runtime/rpc/execute.http": "200 200 200 200",
      "runtime/rpc/found-broken-off.http": "400 400 400 400",
      "runtime/rpc/found-host-that-is-none.http": "400 400 403 400",
      "runtime/rpc/grpc-web.http": "200 200 200 200",
      "runtime/rpc/http2.http": " 400  400",
      "runtime/rpc/interrupt.http": "404 404 404 404",
      "runtime/rpc/list.http": "200 200 200 200",
      "runtime/rpc/resize.http": "404 404 404 404",
      "runtime/rpc/start.http": "200 200 200 200",
      "runtime/rpc/stdin.http": "404 404 404 404",
    }
  `);
});

/** A call that somebody tampered with. */
const tampered = fc.record({
  at: fc.nat(CORPUS.length - 1),
  changes: messageChanges,
  inside: seldom(2, changes),
  garbling: seldom(10, garbling),
  how: leaving,
  port: fc.nat(1),
  runtime: fc.nat(1),
});

/** Changes what is inside a body of JSON. */
function changedInside(message: Message, list: Parameters<typeof changed>[1]): Message {
  if (!message.body.startsWith("{")) return message;
  return { ...message, body: JSON.stringify(changed(JSON.parse(message.body), list, { command: ["true"] })) ?? "" };
}

test("10,000 calls that somebody tampered with: the runtime lives, each is answered or ended, no secret told", async () => {
  const statuses = await tryTampering({
    start: () => startRuntimes(makeTempFolder()),
    drawn: tampered,
    input(stage, { at, inside, garbling: garbles, how, ...drawn }) {
      const { folder, message } = CORPUS[at]!;
      const outer = inside ? changedInside(message, inside) : message;
      // What is inside is looked at where the rest is in order.
      const changedOne = inside ? outer : changedMessage(outer, drawn.changes, TARGETS);
      // Nobody knows where a token comes to lie in what is garbled.
      const whole = textOf(withSecret(filled(changedOne, 0, garbles ? "token" : stage.token)));
      const text = garbles ? garbled(whole, garbles).replaceAll(CANARY, "plain") : whole;
      const ports = PORTS[folder];
      const port = stage.runtimes[drawn.runtime]![ports[drawn.port % ports.length]!] ?? 0;
      return { to: folder, text, how, send: (text, how) => check(stage, port, text, how) };
    },
    async after({ runtimes, outside }) {
      const ask = (at: number, path: string) => speak(at, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, "patient");
      for (const { port, restPort, grpcPort, envdPort } of runtimes) {
        expect(await ask(port, "/")).toMatch(/^HTTP\/1\.1 200 /);
        expect(await ask(restPort, "/v1/health")).toMatch(/^HTTP\/1\.1 200 /);
        expect(await ask(grpcPort, "/")).toMatch(/^HTTP\/1\.1 404 /);
        expect(await ask(envdPort ?? 0, "/health")).toMatch(/^HTTP\/1\.1 204 /);
      }
      expect(outside()).toBe(OUTSIDE);
    },
  });
  expect(statuses["200"]).toBeGreaterThan(runs(700));
});
