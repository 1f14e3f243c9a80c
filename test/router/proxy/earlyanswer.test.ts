/** A sandbox that answers before an upload has ended: the answer reaches the client. */
import { Buffer } from "node:buffer";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { fetchFrom, openSession } from "../client.ts";
import { naming, putReady, startBackend, startRouter } from "../stage.ts";

async function start() {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api, {}, true);
}

/** A server that answers the head of a request at once, and closes with the rest unread: its kernel resets the connection. */
async function startRefusing(head = "Connection: close\r\n"): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.pause();
      socket.write(`HTTP/1.1 413 Payload Too Large\r\nContent-Length: 7\r\n${head}\r\ntoo big`, () => socket.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("an answer that comes before the upload has ended", () => {
  test.for<[string, number, Record<string, string>]>([
    ["1 kB", 1000, {}],
    ["300 kB", 300_000, {}],
    ["3 MB", 3_000_000, {}],
    ["3 MB in chunks", 3_000_000, { "Transfer-Encoding": "chunked" }],
    ["3 MB that wait for a sign", 3_000_000, { Expect: "100-continue" }],
  ])("reaches the client of %s, and the connection is reset", async ([, bytes, headers]) => {
    const { port } = await start();
    for (const head of ["Connection: close\r\n", ""]) {
      const backend = await startRefusing(head);
      for (let round = 0; round < 8; round++) {
        const options = { method: "POST", headers: { ...naming(backend), ...headers } };
        expect(await fetchFrom(port, options, Buffer.alloc(bytes))).toMatchObject({ status: 413, text: "too big" });
      }
    }
  });

  test("reaches the client by HTTP/2", async () => {
    const { port } = await start();
    const backend = await startRefusing();
    for (let round = 0; round < 8; round++) {
      const stream = openSession(`http://127.0.0.1:${port}`).request({ ":method": "POST", ...naming(backend) });
      stream.on("error", () => {}).end(Buffer.alloc(3_000_000));
      let [status, text] = [0, ""];
      stream.on("response", (got) => status = Number(got[":status"])).on("data", (chunk) => text += chunk);
      await new Promise((resolve) => stream.once("close", resolve));
      expect([status, text]).toEqual([413, "too big"]);
    }
  });

  test("reaches the client while the sandbox reads on", async () => {
    const { port } = await start();
    const backend = await startBackend((incoming, answer) => {
      answer.write("early ");
      let bytes = 0;
      incoming.on("data", (chunk) => bytes += chunk.length).on("end", () => answer.end(`got ${bytes}`));
    });
    const options = { method: "PUT", headers: naming(backend.port) };
    expect((await fetchFrom(port, options, Buffer.alloc(3_000_000))).text).toBe("early got 3000000");
  });

  test("and a connection that is reset without one are distinguished", async () => {
    const { port } = await start();
    const backend = await startBackend((incoming) => incoming.once("data", () => incoming.socket.resetAndDestroy()));
    const options = { method: "POST", headers: naming(backend.port) };
    expect(await fetchFrom(port, options, Buffer.alloc(3_000_000))).toMatchObject({ status: 502 });
  });
});
