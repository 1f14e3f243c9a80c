/** Whose program has opened a connection: what Linux says, with and without a real connection. @module */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { isOfUser, isOwnConnection } from "../../packages/cli/dashboard/proxy.ts";
import { listenOn } from "../../packages/process/connections.ts";

const PORTS = { localPort: 8080, remotePort: 40_000 };
const SERVER =
  "   0: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 11 1 ff 20 4";
const client = (uid: number, inode = 12) =>
  `  10: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 02:000A6F53 00000000 ${
    `${uid}`.padStart(5)
  }        0 ${inode} 2 ff`;
const CLIENT6 =
  "   1: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 " +
  "00000000  1001        0 13 1 ff";

test.for([
  { name: "one's own", rows: [SERVER, client(1000)], isOwn: true },
  { name: "root's", rows: [SERVER, client(0)], isOwn: true },
  { name: "another user's", rows: [SERVER, client(1001)], isOwn: false },
  { name: "another user's, of IPv6", rows: [SERVER, CLIENT6], isOwn: false },
  { name: "two that fit", rows: [SERVER, client(1000), CLIENT6], isOwn: false },
  { name: "already closed, so it looks like root's", rows: [SERVER, client(0, 0)], isOwn: false },
  { name: "gone", rows: [SERVER], isOwn: false },
  { name: "unknown, as the system lists nothing", rows: [], isOwn: true },
])("a connection that is $name: own is $isOwn", ({ rows, isOwn }) => {
  expect(isOfUser(["  sl  local_address rem_address   st", ...rows].join("\n"), PORTS, 1000)).toBe(isOwn);
});

test.runIf(process.platform === "linux")("a real connection is this user's, and no other user's", async () => {
  const server = createServer();
  const port = await listenOn(server, "127.0.0.1", 0);
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void (socket.destroy(), server.close()));
  const [accepted] = await once(server, "connection") as [Socket];
  onTestFinished(() => void accepted.destroy());
  expect(await isOwnConnection(accepted)).toBe(true);
  const { localPort, remotePort } = accepted;
  // Root's connections are everybody's.
  const table = readFileSync("/proc/net/tcp", "latin1").replace(/^( *\d+: (?:\S+ +){6})\d+/gm, "$177777");
  expect(isOfUser(table, { localPort, remotePort }, 77_777)).toBe(true);
  expect(isOfUser(table, { localPort, remotePort }, 77_778)).toBe(false);
});
