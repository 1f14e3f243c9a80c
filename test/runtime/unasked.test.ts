/** Port 9090 and bodies of those who show no token: they are refused before anything is read. @module */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectHTTP2 } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../eventually.ts";
import { createTokenCheck } from "../../packages/runtime/token.ts";
import { aServer } from "./rpc/serving.ts";

const EXECUTE = "/process.v1.ProcessService/Execute";
const DECLARED_BYTES = 16 << 20;

async function aGuardedPort(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "token");
  writeFileSync(file, "secret\n");
  return (await aServer({ token: createTokenCheck(file, true) })).listening.port;
}

/** Sends the head of a request of HTTP/1.1 and the beginning of its body. */
function begin(port: number, contentType: string) {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const head = [`POST ${EXECUTE} HTTP/1.1`, "Host: localhost", `Content-Type: ${contentType}`];
  socket.write(`${[...head, `Content-Length: ${DECLARED_BYTES}`].join("\r\n")}\r\n\r\n`);
  socket.write(Buffer.alloc(1000));
  return socket;
}

test.for<[contentType: string, status: number, text: RegExp]>([
  ["application/json", 401, /"code":"unauthenticated","message":"Cannot answer the call: it has no bearer token"/],
  ["application/proto", 401, /"code":"unauthenticated"/],
  ["application/grpc-web+proto", 200, /grpc-status: 16\r\n/],
])("half a body of %s is refused at once", async ([contentType, status, text]) => {
  const socket = begin(await aGuardedPort(), contentType);
  let answer = "";
  socket.on("data", (data) => answer += data);
  await until(() => text.test(answer));
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test("half a message of gRPC is refused at once, and its stream ends", async () => {
  const session = connectHTTP2(`http://127.0.0.1:${await aGuardedPort()}`);
  onTestFinished(() => session.destroy());
  const call = session.request({ ":method": "POST", ":path": EXECUTE, "content-type": "application/grpc+proto" });
  // Of a message of 65,536 bytes.
  call.write(Buffer.from([0, 0, 1, 0, 0, 1, 2, 3]));
  call.resume();
  const closed = once(call, "close");
  const [trailers] = await once(call, "trailers");
  expect(trailers).toMatchObject({ "grpc-status": "16" });
  await closed;
  expect(call.rstCode).toBe(0);
});

test("a connection whose body stalls after the answer is given up, one that goes on is not", async () => {
  const port = await aGuardedPort();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const [stalls, goesOn] = [begin(port, "application/json"), begin(port, "application/json")];
  await Promise.all([stalls, goesOn].map((socket) => once(socket, "data")));
  const rest = Buffer.alloc(DECLARED_BYTES - 1000);
  await new Promise((resolve) => goesOn.write(rest, resolve));
  goesOn.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(String((await once(goesOn, "data"))[0])).toMatch(/^HTTP\/1.1 404 /);
  const closed = once(stalls, "close");
  vi.advanceTimersByTime(10_000);
  await closed;
  expect(goesOn.destroyed).toBe(false);
});
