/** Bodies of the dashboard's requests cost what they are long, in however small chunks they come. @module */
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createDashboard } from "../../../../packages/router/dashboard/dashboard.ts";
import { eventually } from "../../../eventually.ts";
import { liveBytes } from "../../../heap.ts";
import { startBackend } from "../../stage.ts";
import { answerOf } from "../stage.ts";

const PATH = "/.hookbox/api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes";
const HEAD = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nTransfer-Encoding: chunked\r\n\r\n`;
const CHUNK = "1\r\na\r\n";
const CLIENTS = 4;
const CHUNKS = 50_000;

test("a body of one-byte chunks takes little memory while it waits for its last", async () => {
  const sockets: { bytesRead: number }[] = [];
  const dashboard = createDashboard({
    apiProxy: () => Promise.resolve(answerOf(201, { status: { userInfo: { username: "ada" } } })),
    log: () => {},
    domain: undefined,
    settings: { clusterName: "", tokenStorage: "memory" },
    addressOf: () => "here",
  });
  const { port } = await startBackend((request, response) => {
    sockets.push(request.socket);
    dashboard.answer(request, response);
  });
  const before = liveBytes();
  for (let i = 0; i < CLIENTS; i++) {
    const socket = connect({ host: "127.0.0.1", port }).on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(HEAD);
    socket.write(CHUNK.repeat(CHUNKS));
  }
  const sent = HEAD.length + CHUNK.length * CHUNKS;
  await eventually(() => sockets.map(({ bytesRead }) => bytesRead)).toEqual(Array(CLIENTS).fill(sent));
  expect((liveBytes() - before) / CLIENTS).toBeLessThan(1_000_000);
});
