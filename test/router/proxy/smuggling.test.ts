import { describe, expect, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { exchange, fetchFrom } from "../client.ts";
import { headOf, OK, startRaw } from "../rawbackend.ts";
import { naming, putReady, startRouter } from "../stage.ts";

async function start() {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api);
}

describe("smuggling", () => {
  test("is what is tried below: the same request without it gets through", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.end(OK));
    const text = await exchange(
      port,
      `POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headOf(raw.port)}Content-Length: 4\r\n\r\nabcd`,
    );
    expect(text).toContain("200 OK");
    expect(raw.text).toContain("abcd");
  });

  test.for<[string, string]>([
    ["both framings", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"],
    ["two lengths", "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"],
    ["a list of lengths", "Content-Length: 4, 4\r\n\r\nabcd"],
    ["a coding after chunked", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"],
    ["another coding", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["a name with a blank", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"],
    ["a folded line", "X-A: 1\r\n b\r\nContent-Length: 0\r\n\r\n"],
    ["a bare line feed", "X-A: 1\nContent-Length: 0\r\n\r\n"],
    ["a chunk size that is none", "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n"],
    ["a NUL", "X-A: \0\r\nContent-Length: 0\r\n\r\n"],
  ])("never gets %s through", async ([, rest]) => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.end(OK));
    const text = await exchange(
      port,
      `POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headOf(raw.port)}${rest}`,
    );
    expect(text).not.toContain("200 OK");
    expect(raw.text).not.toMatch(/GET|identity|gzip|0x1|\r\n b|\0/);
  });

  test.for([
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw",
    "SSH-2.0-OpenSSH\r\n",
  ])("passes no answer that can be read in two ways: %j", async (bytes) => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.end(bytes));
    expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({ status: 502 });
  });
});
