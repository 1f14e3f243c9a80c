/** Streams through the router to a real sandbox: what is open stays open, and what is large is not kept. @module */
import { randomBytes } from "node:crypto";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { dial, open, readUntil } from "../router/client.ts";
import { until } from "../integration/kubectl.ts";
import { growthDuring, processIn } from "./memory.ts";
import { type Loose, makeNamespace, type Namespace, sleeper } from "../integration/namespace.ts";
import { type Router, startRouter } from "./router.ts";
import { ask, execute, FILES, isReady, naming, needsRuntime, SERVING } from "./runtimepods.ts";
import { download, upload } from "./transfers.ts";
import { hasRealNode } from "../integration/suite.ts";

const MEGABYTE = 1_000_000;
const OWN_PORT = 9000;
const WEBSOCKET_PORT = 9001;
const SINK_PORT = 9002;

/** Starts the router last: as after a restart, it finds a sandbox that has long been there. */
async function start(sandbox: Loose, ...args: string[]): Promise<{ ns: Namespace; router: Router }> {
  const ns = await makeNamespace();
  await ns.apply(sandbox);
  await ns.until("sandbox", sandbox.metadata.name, (seen) => isReady(seen));
  return { ns, router: await startRouter(...args) };
}

describe.runIf(hasRealNode)("through the router", () => {
  beforeAll(needsRuntime);

  test("WebSocket and event streams outlive the longest silence of other bodies", async () => {
    const { ns, router } = await start(await withWebSockets("s"), "--proxy-timeout", "2s");
    const socket = await openEcho(router, ns, "s");
    expect(await socket.echo("before")).toBe("before");
    const watch = (accept: string) =>
      open(router.port, { path: "/v1/watch/", headers: { ...naming(ns, "s", FILES), accept } });
    const events = await watch("text/event-stream");
    const lines = await watch("application/x-ndjson");
    const texts = [events, lines].map((body) => {
      const seen = { text: "", isCut: false };
      body.on("data", (chunk) => seen.text += chunk).on("error", () => {}).on("close", () => seen.isCut = true);
      return seen;
    });
    const [ofEvents, ofLines] = texts;
    await seenBy(() => texts.every(({ text }) => text.includes("ready")));
    // The plain body is the clock: once it is cut off for its silence, the others have been silent for as long.
    await seenBy(() => ofLines?.isCut === true);
    expect(lines.complete).toBe(false);
    expect(ofEvents?.isCut).toBe(false);
    await execute(router, ns, "s", "touch made-later");
    await seenBy(() => ofEvents?.text.includes('"path":"made-later"') === true);
    expect(await socket.echo("after")).toBe("after");
    const large = randomBytes(MEGABYTE);
    expect(large.equals(await socket.echo(large) as Uint8Array)).toBe(true);
    expect(await socket.close(), "said by the client, and back by the server").toBe(4321);
    events.destroy();
  });

  test("each way of an upgraded connection ends by itself, and what breaks on one side breaks on the other", async () => {
    const { ns, router } = await start(await ownProtocol("o"));
    const connect = async (path: string) => {
      const socket = await dial(router.port, true);
      const names = Object.entries(naming(ns, "o", OWN_PORT)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: own\r\n${names}\r\n`);
      return { socket, head: await readUntil(socket, /\r\n\r\n/) };
    };
    const heard = async (path: string) => {
      const look = async () => (await ask(router, ns, "o", { port: OWN_PORT, path })).body.toString();
      return await until(look, (text) => text !== "");
    };

    const one = await connect("/client-ends-first");
    expect(one.head).toMatch(/^HTTP\/1\.1 101 /);
    one.socket.end("hello");
    expect(await readUntil(one.socket, "hello")).toBe("you said: hello");
    expect(await heard("/client-ends-first")).toBe("hello, and an end");

    const two = await connect("/ends-first");
    const first = two.head.split("\r\n\r\n")[1] || await readUntil(two.socket, "word");
    expect(first).toBe("my last word");
    if (!two.socket.readableEnded) await new Promise((resolve) => two.socket.resume().once("end", resolve));
    two.socket.end("I am still here");
    expect(await heard("/ends-first")).toBe("I am still here, and an end");

    const three = await connect("/client-breaks");
    three.socket.resetAndDestroy();
    expect(await heard("/client-breaks")).toBe(", and no end");

    const four = await connect("/breaks");
    const broken = new Promise((resolve) => four.socket.once("error", resolve));
    four.socket.resume().write("x");
    expect(await broken).toMatchObject({ code: "ECONNRESET" });
  });

  test(
    "200 MB pass both ways byte for byte, and neither router nor runtime keeps them",
    async () => {
      const name = `r-${randomBytes(4).toString("hex")}`;
      const sink = await aProgram("sink", "slowsink.ts", SINK_PORT);
      const sandbox = sleeper(name, {}, { containers: [...SERVING.containers, sink] });
      const { ns, router } = await start(sandbox, "--no-access-log");
      const file = { router, ns, sandbox: name, port: FILES, path: "/v1/files/large" };
      const slow = { ...file, port: SINK_PORT };
      // What first transfers allocate once and for all is not what is asked here.
      for (const place of [file, slow]) await upload(place, 20 * MEGABYTE);
      await download(file);
      const pids = [router.pid, processIn(name, "/opt/hookbox/main.js")];
      const bytes = 200 * MEGABYTE;
      let hash = "";
      const up = await growthDuring(pids, async () => {
        ({ hash } = await upload(file, bytes));
      });
      const slowly = await growthDuring([router.pid], async () => {
        const { hash: sent, text } = await upload(slow, bytes);
        expect(text).toBe(sent);
      });
      const down = await growthDuring(pids, async () => {
        expect(await download(file)).toEqual({ hash, bytes });
      });
      const growths = [...up, ...slowly, ...down].map(({ growth }) => growth);
      const shown = growths.map((growth) => Math.round(growth / MEGABYTE)).join(", ");
      process.stdout.write(
        `router-streams: MB more: router, runtime; router before a slow reader; router, runtime: ${shown}\n`,
      );
      // Chunks that await the collector took 30 at most; a router that did not hold the sender back kept 110 and more.
      for (const growth of growths) expect(growth).toBeLessThan(90 * MEGABYTE);
    },
  );
});

async function seenBy(holds: () => boolean): Promise<void> {
  await until(() => Promise.resolve(holds()), Boolean);
}

/** Opens a WebSocket to a server that gives back what it gets. */
async function openEcho(router: Router, ns: Namespace, name: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${router.port}/echo`, { headers: naming(ns, name, WEBSOCKET_PORT) });
  onTestFinished(() => socket.terminate());
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return {
    echo(said: string | Uint8Array) {
      socket.send(said);
      return new Promise((resolve) =>
        socket.once("message", (data, isBinary) => resolve(isBinary ? data : data.toString()))
      );
    },
    close() {
      socket.close(4321, "bye");
      return new Promise((resolve) => socket.once("close", resolve));
    },
  };
}

/** A Sandbox with a server of tests instead of the runtime. */
async function ownProtocol(name: string): Promise<Loose> {
  return sleeper(name, {}, { containers: [await aProgram("main", "ownprotocol.ts", OWN_PORT)] });
}

/** A Sandbox with the runtime and a WebSocket server. */
async function withWebSockets(name: string): Promise<Loose> {
  const echo = await aProgram("echo", "websocketecho.ts", WEBSOCKET_PORT);
  return sleeper(name, {}, { containers: [...SERVING.containers, echo] });
}

/** A container that runs a file of this folder, with what it imports: the runtime's image has Node. */
async function aProgram(name: string, file: string, port: number): Promise<Loose> {
  const { image, imagePullPolicy } = SERVING.containers[0]!;
  const input = fileURLToPath(new URL(`programs/${file}`, import.meta.url));
  const { output: [{ code }] } = await build({ input, platform: "node", output: { minify: true }, write: false });
  return {
    name,
    image,
    imagePullPolicy,
    command: ["node", "--input-type=module", "--eval", code],
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
  };
}
