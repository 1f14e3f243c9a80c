/** A proxy between Metacontroller and the hooks that can be slow, wrong, absent or silent. For tests. @module */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What becomes of a request: `slow` is answered one to three seconds late; `failing` in turn 500, half an answer, an
 * answer that is no JSON, or a broken connection; `refused` finds nobody who
 * listens; `swallowed` is never answered.
 */
export type Weather = "fair" | "slow" | "failing" | "refused" | "swallowed";

export interface FaultProxy {
  /** Requests that were met by each weather. */
  met: Record<Weather, number>;
  /** Changes what is to come; connections that are open break where nobody listens any more or hears again. */
  turn(weather: Weather): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a proxy on a port of loopback, before another. */
export async function startFaultProxy(port: number, behind: number): Promise<FaultProxy> {
  const clients = new Set<Socket>();
  let weather: Weather = "fair";
  let server: Server | undefined;
  const met = { fair: 0, slow: 0, failing: 0, refused: 0, swallowed: 0 };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const turn = met[weather]++;
    if (weather === "swallowed") return void incoming.resume();
    const damage = weather === "failing" ? DAMAGES[turn % DAMAGES.length] : undefined;
    if (weather === "slow") await sleep(1000 + (turn % 9) * 250);
    pass(incoming, outgoing, behind, damage);
  }

  const listen = async () => {
    server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
    server.on("connection", (socket) => {
      clients.add(socket);
      socket.once("close", () => clients.delete(socket));
    });
    await new Promise<void>((resolve) => server?.listen(port, "127.0.0.1", resolve));
  };
  const close = async () => {
    const closed = new Promise<void>((resolve) => server ? server.close(() => resolve()) : resolve());
    clients.forEach((socket) => socket.destroy());
    await closed;
    server = undefined;
  };
  await listen();
  return {
    met,
    async turn(next) {
      const before = weather;
      weather = next;
      if (before === "swallowed") clients.forEach((socket) => socket.destroy());
      if (next === "refused") await close();
      else if (!server) await listen();
    },
    stop: close,
  };
}

type Damage = (answer: IncomingMessage, outgoing: ServerResponse) => void;

const DAMAGES: Damage[] = [
  (answer, outgoing) => {
    answer.resume();
    outgoing.writeHead(500).end("a hook that fails");
  },
  (answer, outgoing) => {
    const { "content-length": _, ...headers } = answer.headers;
    outgoing.writeHead(200, headers);
    answer.once("data", (part: Uint8Array) => outgoing.end(part.subarray(0, part.length / 2)));
  },
  (answer, outgoing) => {
    answer.resume();
    outgoing.writeHead(200, { "content-type": "application/json" }).end("<html>Bad gateway</html>");
  },
  (answer, outgoing) => {
    outgoing.writeHead(200, answer.headers);
    answer.once("data", (part: Uint8Array) => outgoing.write(part.subarray(0, 10), () => outgoing.destroy()));
  },
  (answer, outgoing) => {
    answer.resume();
    outgoing.destroy();
  },
];

function pass(incoming: IncomingMessage, outgoing: ServerResponse, port: number, damage: Damage | undefined): void {
  const { method, url, headers } = incoming;
  const forwarded = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
    if (damage) return damage(answer, outgoing);
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  forwarded.once("error", () => outgoing.destroy());
  incoming.pipe(forwarded);
}
