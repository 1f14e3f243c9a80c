import { Buffer } from "node:buffer";
import type { OutgoingHttpHeaders } from "node:http2";
import { describe, expect, test } from "vitest";
import { until } from "../../eventually.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, exchange, openSession, readUntil } from "../client.ts";
import { headOf, startRaw } from "../rawbackend.ts";
import { naming, putReady, startRouter } from "../stage.ts";

/** What would be a request of its own if the body of another ended before it. */
const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async function start() {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api, {}, true);
}

/** Reads messages as RFC 9112 says, and nothing between them. @throws {Error} if bytes are left that begin no message */
function messagesIn(text: string): { start: string; head: string; body: string }[] {
  const messages = [];
  for (let rest = text; rest !== "";) {
    const [, start = "", headers = ""] = /^([!-~]+ [!-~]+ HTTP\/1\.1)\r\n((?:.+\r\n)*)\r\n/.exec(rest) ?? [];
    if (start === "") throw new Error(`Cannot read a request: ${JSON.stringify(rest.slice(0, 80))}`);
    rest = rest.slice(start.length + 2 + headers.length + 2);
    const isChunked = /^transfer-encoding: chunked\r$/im.test(headers);
    const length = /^content-length: (\d+)\r$/im.exec(headers)?.[1];
    if (isChunked && length !== undefined) throw new Error("Cannot read a request: it has two framings");
    let body = "";
    if (isChunked) {
      for (let size = 1; size > 0;) {
        const [line = "", digits = ""] = /^([0-9a-f]+)\r\n/.exec(rest) ?? [];
        if (line === "") throw new Error(`Cannot read a chunk: ${JSON.stringify(rest.slice(0, 40))}`);
        size = Number.parseInt(digits, 16);
        body += rest.slice(line.length, line.length + size);
        rest = rest.slice(line.length + size + 2);
      }
    } else {
      body = rest.slice(0, Number(length ?? 0));
      rest = rest.slice(body.length);
    }
    messages.push({ start, head: headers, body });
  }
  return messages;
}

describe("over raw sockets", () => {
  const LENGTH = `Content-Length: ${SMUGGLED.length}\r\n`;

  test.for<[string, string, string]>([
    ["GET", "a length that Connection lists", `${LENGTH}Connection: content-length\r\n\r\n`],
    ["POST", "a length that Connection lists", `${LENGTH}Connection: content-length\r\n\r\n`],
    ["DELETE", "a length that Connection lists among others", `${LENGTH}Connection: close, Content-Length\r\n\r\n`],
    ["POST", "a length that two Connections list", `${LENGTH}Connection: x\r\nConnection: CONTENT-LENGTH\r\n\r\n`],
    ["PUT", "a length and a Host that Connection lists", `${LENGTH}Connection: host,content-length , x\r\n\r\n`],
    ["OPTIONS", "a plain length", `${LENGTH}\r\n`],
  ])("a %s with %s is one request, with its body", async ([method, , rest]) => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.write(OK));
    const socket = await dial(port);
    socket.write(`${method} /x HTTP/1.1\r\nHost: localhost\r\n${headOf(raw.port)}${rest}${SMUGGLED}`);
    expect(await readUntil(socket, "ok")).toContain("200 OK");
    await until(() => raw.text.endsWith("\r\n\r\n"));
    const messages = messagesIn(raw.text);
    expect(messages).toMatchObject([{ start: `${method} /x HTTP/1.1`, body: SMUGGLED }]);
    expect(messages[0]?.head).toContain(`Host: 127.0.0.1:${raw.port}\r\n`);
  });

  const chunked = (chunks: string) => `Transfer-Encoding: chunked\r\n\r\n${chunks}`;
  const size = SMUGGLED.length.toString(16);

  test.for<[string, string, string]>([
    ["a chunk", chunked(`${size}\r\n${SMUGGLED}\r\n0\r\n\r\n`), SMUGGLED],
    ["an extension of a chunk", chunked(`${size};a="b"\r\n${SMUGGLED}\r\n0;c\r\n\r\n`), SMUGGLED],
    ["a size with zeros before it", chunked(`000${size}\r\n${SMUGGLED}\r\n000\r\n\r\n`), SMUGGLED],
    ["trailers that would be headers", chunked("0\r\nHost: evil\r\nX-Sandbox-ID: evil\r\n\r\n"), ""],
    ["a coding that Connection lists", `Connection: transfer-encoding\r\n${chunked(`1\r\na\r\n0\r\n\r\n`)}`, "a"],
    ["TE and Trailer", `TE: trailers, deflate\r\nTrailer: x\r\n${chunked("1\r\na\r\n0\r\nx: y\r\n\r\n")}`, "a"],
    ["an Upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n", ""],
    [
      "headers of a hop",
      "Connection: keep-alive, x-secret\r\nX-Secret: 1\r\nKeep-Alive: 9\r\nProxy-Connection: x\r\n\r\n",
      "",
    ],
  ])("%s frames one request and passes none of it on", async ([, rest, body]) => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.write(OK));
    const socket = await dial(port);
    socket.write(`POST /x HTTP/1.1\r\nHost: localhost\r\n${headOf(raw.port)}${rest}`);
    expect(await readUntil(socket, "ok")).toContain("200 OK");
    await until(() => raw.text.endsWith("\r\n\r\n"));
    const messages = messagesIn(raw.text);
    expect(messages).toMatchObject([{ start: "POST /x HTTP/1.1", body }]);
    expect(messages[0]?.head).not.toMatch(
      /^(te|trailer|upgrade|http2-settings|keep-alive|proxy-connection|x-secret):/im,
    );
    expect(messages[0]?.head).not.toMatch(/evil/);
  });

  const host = "Host: localhost\r\n";
  test.for<[string, string]>([
    ["a length and a coding", `${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ["a coding and a length", `${host}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ["two lengths", `${host}Content-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`],
    ["the same length twice", `${host}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`],
    ["a length with a sign", `${host}Content-Length: +5\r\n\r\nabcde`],
    ["a length in hex", `${host}Content-Length: 0x5\r\n\r\nabcde`],
    ["a negative length", `${host}Content-Length: -1\r\n\r\n${SMUGGLED}`],
    ["a length beyond all numbers", `${host}Content-Length: 18446744073709551617\r\n\r\na`],
    ["a coding twice", `${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a coding that looks like chunked", `${host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ["a coding after a tab", `${host}Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ["a name with a blank behind", `${host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ["a folded line", `${host}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a folded line by a tab", `${host}X-A: b\r\n\tc\r\n\r\n`],
    ["a bare line feed", `${host}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a bare carriage return", `${host}X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["a NUL", `${host}X-A: \0b\r\n\r\n`],
    ["a size of a chunk beyond all numbers", `${host}${chunked(`fffffffffffffffff\r\n${SMUGGLED}`)}`],
    ["a size of a chunk with a sign", `${host}${chunked(`+${size}\r\n${SMUGGLED}\r\n0\r\n\r\n`)}`],
    ["a chunk that ends by a bare line feed", `${host}${chunked(`1\na\n0\n\n${SMUGGLED}`)}`],
    ["an extension with a bare line feed", `${host}${chunked(`1;a\nb\r\na\r\n0\r\n\r\n`)}`],
    ["a chunk that is longer than it says", `${host}${chunked(`1\r\nab\r\n0\r\n\r\n`)}`],
    ["a length behind the body", `${host}${chunked("0\r\nContent-Length: 5\r\n\r\n")}`],
    ["two Hosts", `${host}Host: other\r\nConnection: close\r\n\r\n`],
    ["lines that end by line feeds alone", "Host: localhost\n\n"],
  ])("%s is refused, and nobody hears of what follows", async ([, rest]) => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.end(OK));
    const text = await exchange(port, `POST /x HTTP/1.1\r\n${headOf(raw.port)}${rest}`);
    expect(text).not.toContain("200 OK");
    expect(text.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThan(2);
    expect(raw.text).not.toContain("smuggled");
  });

  test("what a client of a refused Upgrade sends on is no request", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.write(OK));
    const text = await exchange(
      port,
      `GET /x HTTP/1.1\r\nHost: localhost\r\n${headOf(raw.port)}Connection: Upgrade\r\nUpgrade: x\r\n\r\n${SMUGGLED}`,
    );
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(raw.text).not.toContain("smuggled");
  });
});

describe("over HTTP/2", () => {
  function ask(url: string, headers: OutgoingHttpHeaders, body = "") {
    return new Promise<number | undefined>((resolve) => {
      let status: number | undefined;
      try {
        const stream = openSession(url).request(headers, { endStream: body === "" });
        stream.on("error", () => {}).on("response", (got) => status = got[":status"]).resume();
        stream.on("close", () => resolve(status));
        if (body !== "") stream.end(Buffer.from(body));
      } catch {
        resolve(undefined);
      }
    });
  }

  test.for<[string, OutgoingHttpHeaders, string]>([
    ["more than its length", { ":method": "POST", "content-length": "1" }, SMUGGLED],
    ["less than its length", { ":method": "POST", "content-length": "9999" }, "a"],
    ["a length of nothing", { ":method": "POST", "content-length": "0" }, SMUGGLED],
    ["a path of two lines", { ":path": "/x HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled" }, ""],
    ["a method of two words", { ":method": "GET /smuggled HTTP/1.1\r\nx:" }, ""],
    ["a header of two lines", { "x-a": "b\r\nTransfer-Encoding: chunked" }, ""],
    ["a name of two lines", { "x-a: b\r\nx-c": "d" }, ""],
    ["a coding", { ":method": "POST", "transfer-encoding": "chunked" }, `0\r\n\r\n${SMUGGLED}`],
  ])("%s is no request of its own", async ([, headers, body]) => {
    const { url } = await start();
    const raw = await startRaw((socket) => socket.write(OK));
    await ask(url, { ...naming(raw.port), ...headers }, body);
    expect(await ask(url, { ...naming(raw.port), ":path": "/after" }), "the next request").toBe(200);
    const starts = raw.text.match(/^[A-Z]+ \S+ HTTP\/1\.1$/gm) ?? [];
    expect(starts.filter((line) => line.includes("smuggled") || line.includes("HTTP/1.1 "))).toEqual([]);
    expect(raw.text).not.toMatch(/^transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET/im);
  });
});
