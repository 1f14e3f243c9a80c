/** GET /v1/terminal: frames both ways, who is let in, and whose end a terminal shares. @module */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createRoot } from "../../../packages/runtime/confine.ts";
import { listen } from "../../../packages/runtime/listen.ts";
import { createProcesses } from "../../../packages/runtime/processes/processes.ts";
import { createTerminalSockets, TERMINAL_PROTOCOL } from "../../../packages/runtime/terminal/socket.ts";
import { createTokenCheck } from "../../../packages/runtime/token.ts";
import { eventually, untilThere } from "../../eventually.ts";

async function aServer(tokenText?: string) {
  const directory = mkdtempSync(join(tmpdir(), "hookbox-terminal-"));
  const root = await createRoot(directory);
  const file = join(directory, "token");
  if (tokenText) writeFileSync(file, tokenText);
  const processes = createProcesses({ env: () => ({ HOME: directory }) });
  const sockets = createTerminalSockets({ root, processes, token: createTokenCheck(file, tokenText !== undefined) });
  const listening = await listen((_, response) => response.end("plain"), "127.0.0.1", 0, sockets);
  onTestFinished(async () => {
    processes.killAll();
    await listening.close();
    rmSync(directory, { recursive: true });
  });
  return { processes, root: root.path, host: `127.0.0.1:${listening.port}`, port: listening.port };
}

interface Options {
  headers?: Record<string, string>;
  protocols?: string[];
}

/** Opens a socket; `text` and `messages` grow as frames come, `closed` resolves with the code. */
function open(host: string, query: Record<string, string>, { headers = {}, protocols = [] }: Options = {}) {
  const url = `ws://${host}/v1/terminal?${new URLSearchParams(query)}`;
  const socket = new WebSocket(url, protocols, { headers });
  const seen = { text: "", messages: [] as Record<string, Record<string, unknown>>[], socket };
  socket.on("message", (data, isBinary) => {
    if (isBinary) seen.text += data.toString();
    else seen.messages.push(JSON.parse(data.toString()));
  });
  onTestFinished(() => socket.terminate());
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  const refused = new Promise<number | undefined>((resolve) =>
    socket.on("unexpected-response", (_, response) => resolve(response.statusCode)).on("error", () => {})
  );
  return Object.assign(seen, { closed, refused });
}

test("a terminal runs a command, of the size asked for; its exit is the last frame", async () => {
  const { host, root } = await aServer();
  const terminal = open(host, { cols: "91", rows: "33", command: "stty size; pwd; exit 7" });
  expect(await terminal.closed).toBe(1000);
  expect(terminal.text).toBe(`33 91\r\n${root}\r\n`);
  expect(terminal.messages).toMatchObject([{ process: {} }, { exit: { exitCode: 7, signal: "" } }]);
});

test("input is typed, and a resize arrives", async () => {
  const { host } = await aServer();
  const terminal = open(host, { command: "stty -echo; echo ready; read a; stty size; read b; echo $a$b" });
  await eventually(() => terminal.text).toBe("ready\r\n");
  terminal.socket.send(JSON.stringify({ resize: { cols: 50, rows: 20 } }));
  for (const line of ["one\n", "two\n"]) terminal.socket.send(new TextEncoder().encode(line));
  await terminal.closed;
  expect(terminal.text).toBe("ready\r\n20 50\r\nonetwo\r\n");
});

test("without a command it is a shell", async () => {
  const { host } = await aServer();
  const terminal = open(host, {});
  terminal.socket.once("open", () => terminal.socket.send(new TextEncoder().encode("echo $((6 * 7)); exit\n")));
  await terminal.closed;
  expect(terminal.text).toContain("42\r\n");
});

test("a socket that closes takes its terminal along", async () => {
  const { host, processes } = await aServer();
  const terminal = open(host, { command: "sleep 300" });
  await eventually(() => processes.list().length).toBe(1);
  terminal.socket.close();
  await eventually(() => processes.list()).toEqual([]);
});

test("a detached process outlives its socket, and is attached to again from an offset", async () => {
  const { host, processes } = await aServer();
  const command = { argv: ["/bin/sh", "-c", "stty -echo; echo one; read a; echo $a"], cwd: "/", env: {} };
  const entry = await processes.start(command, { size: { cols: 80, rows: 24 }, detached: true });
  const query = { process_id: String(entry.running.pid) };
  const first = open(host, query);
  await eventually(() => first.text).toBe("one\r\n");
  first.socket.close();
  await first.closed;
  await eventually(() => entry.attached).toBe(0);
  const second = open(host, { ...query, offset: "2" });
  second.socket.once("open", () => second.socket.send(new TextEncoder().encode("two\n")));
  await second.closed;
  expect(second.text).toBe("e\r\ntwo\r\n");
  expect(second.messages.at(-1)).toEqual({ exit: { exitCode: 0, signal: "" } });
});

test("with a window the program waits until its output has been dealt with", async () => {
  const { host } = await aServer();
  const terminal = open(host, { command: "head -c 2000000 /dev/zero | tr '\\0' x; echo; echo end", window: "100000" });
  await eventually(() => terminal.text.length).toBeGreaterThanOrEqual(100_000);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(terminal.text.length).toBeLessThan(300_000);
  const timer = setInterval(() => {
    terminal.socket.send(JSON.stringify({ taken: { bytes: terminal.text.length } }));
  }, 5);
  onTestFinished(() => clearInterval(timer));
  expect(await terminal.closed).toBe(1000);
  expect(terminal.text.length).toBe(2_000_000 + "\r\nend\r\n".length);
  expect(terminal.messages.at(-1)).toEqual({ exit: { exitCode: 0, signal: "" } });
});

test("nobody can have dealt with more than was sent", async () => {
  const { host } = await aServer();
  const terminal = open(host, { command: "sleep 300", window: "1000" });
  terminal.socket.once("open", () => terminal.socket.send(JSON.stringify({ taken: { bytes: 1 } })));
  expect(await terminal.closed).toBe(1008);
});

test("a message that is none closes the socket", async () => {
  const { host } = await aServer();
  const terminal = open(host, { command: "sleep 300" });
  terminal.socket.once("open", () => terminal.socket.send("resize!"));
  expect(await terminal.closed).toBe(1008);
});

test.for([
  { name: "a size of none", query: { cols: "0" }, status: 400 },
  { name: "a window of none", query: { window: "0" }, status: 400 },
  { name: "cwd outside the root", query: { cwd: ".." }, status: 403 },
  { name: "a missing cwd", query: { cwd: "missing" }, status: 404 },
  { name: "an unknown process", query: { process_id: "1" }, status: 404 },
])("$name is refused with $status", async ({ query, status }) => {
  const { host, processes } = await aServer();
  expect(await open(host, query as unknown as Record<string, string>).refused).toBe(status);
  expect(processes.list()).toEqual([]);
});

test("with a token, its bearer is let in by header or protocol, and nobody else", async () => {
  const { host } = await aServer("secret");
  const query = { command: "echo in" };
  const bearer = `hookbox.bearer.${btoa("secret").replaceAll("=", "")}`;
  expect(await open(host, query).refused).toBe(401);
  expect(await open(host, query, { headers: { authorization: "Bearer other" } }).refused).toBe(401);
  const origin = { origin: "https://elsewhere.example" };
  const allowed: Options[] = [
    { headers: { authorization: "Bearer secret", ...origin } },
    { protocols: [TERMINAL_PROTOCOL, bearer] },
  ];
  for (const options of allowed) {
    const terminal = open(host, query, options);
    await terminal.closed;
    expect(terminal.text).toBe("in\r\n");
    expect(terminal.socket.protocol).toBe(options.protocols ? TERMINAL_PROTOCOL : "");
  }
});

test("without a token a page of another origin is kept out, one of the same is not", async () => {
  const { host } = await aServer();
  const query = { command: "echo in" };
  expect(await open(host, query, { headers: { origin: "https://elsewhere.example" } }).refused).toBe(403);
  const same = open(host, query, { headers: { origin: `http://${host}` } });
  await same.closed;
  expect(same.text).toBe("in\r\n");
});

test("other requests for an upgrade are answered as if they had not asked", async () => {
  const { port } = await aServer();
  const socket = connect(port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: h2c\r\n\r\n");
  let answer = "";
  for await (const part of socket) answer += part;
  expect(answer).toMatch(/^HTTP\/1.1 200 [^]*plain/);
});

test("a request that no URL parser takes is answered, and the runtime goes on", async () => {
  const { host, port } = await aServer();
  for (const path of ["//", "//:x", "/%", "http://[", "///v1/terminal?cwd=%"]) {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    const [first] = await once(socket, "data");
    expect([path, String(first).split("\r\n")[0]]).toEqual([path, "HTTP/1.1 200 OK"]);
  }
  const terminal = open(host, { command: "echo still here" });
  await terminal.closed;
  expect(terminal.text).toBe("still here\r\n");
});

test("a handshake that fails leaves no shell behind", async () => {
  const { processes, port } = await aServer();
  for (const wrong of ["Sec-WebSocket-Version: 12", "Sec-WebSocket-Key: short"]) {
    const right = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
    const name = wrong.split(":")[0] ?? "";
    const lines = [...right.filter((line) => !line.startsWith(name)), wrong];
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(
      `GET /v1/terminal HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${
        lines.join("\r\n")
      }\r\n\r\n`,
    );
    const [first] = await once(socket, "data");
    expect([wrong, String(first).split("\r\n")[0]]).toEqual([wrong, "HTTP/1.1 400 Bad Request"]);
  }
  await eventually(() => processes.list()).toEqual([]);
});

test("without a command it is a shell with the PATH that commands have", async () => {
  const { host } = await aServer();
  const terminal = open(host, { cols: "4000", rows: "33" });
  await untilThere(1, () => terminal.messages);
  terminal.socket.send(new TextEncoder().encode("echo [$PATH]; exit\n"));
  expect(await terminal.closed).toBe(1000);
  expect(terminal.text).toContain(`[${process.env["PATH"]}]`);
});
