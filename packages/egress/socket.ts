/** Serves the proxy on a Unix socket: answers its questions, and takes its reports. @module */
import { mkdirSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import * as z from "zod";
import { type Answer, type Question, questionSchema } from "./answer.ts";
import type { Log } from "../process/log.ts";
import type { EgressMetrics } from "./metrics.ts";
import type { RefusalLog } from "./refusallog.ts";

/** Longest message: a host name has at most 253 characters. */
const MOST_CHARACTERS = 4096;

/** What the proxy says without a question, one line of JSON. It gets no answer. */
const reportSchema = z.object({
  /** Open connections of sandboxes. */
  connections: z.int().min(0),
  /** A request that the proxy itself has refused. */
  refused: questionSchema.omit({ encrypted: true }).extend({ status: z.int(), reason: z.string() }).optional(),
});

export interface ProxyService {
  /** Questions get answers. */
  isListening(): boolean;
  /** Resolves when `signal` has fired. @throws {Error} if the socket cannot be made */
  done: Promise<void>;
}

export interface ServiceOptions {
  answer: (question: Question) => Promise<Answer>;
  log: Log;
  logRefusal: RefusalLog;
  metrics: Pick<EgressMetrics, "answered" | "refused" | "connected">;
  signal: AbortSignal;
}

/** Serves one line for each connection, until `signal` fires. */
export function serveProxy(path: string, options: ServiceOptions): ProxyService {
  const { signal } = options;
  const server = createServer((socket) => void serve(socket, options));
  return { isListening: () => server.listening, done: listen() };

  async function listen(): Promise<void> {
    mkdirSync(dirname(path), { recursive: true });
    // A process that was killed has left it.
    rmSync(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => server.close(() => resolve()), { once: true });
      if (signal.aborted) server.close(() => resolve());
    });
  }
}

async function serve(socket: Socket, options: ServiceOptions): Promise<void> {
  socket.on("error", () => socket.destroy());
  socket.setEncoding("utf8");
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes("\n") || text.length > MOST_CHARACTERS) break;
  }
  const message = parse(text);
  const report = reportSchema.safeParse(message).data;
  if (report) {
    socket.end();
    return take(report, options);
  }
  const question = questionSchema.safeParse(message).data;
  const start = performance.now();
  const failed: Answer = { allowed: false, status: 503, reason: "the egress policy has failed", cause: "error" };
  const given = question ? await options.answer(question).catch(() => failed) : failed;
  socket.end(`${JSON.stringify(given)}\n`);
  options.metrics.answered(given, (performance.now() - start) / 1000);
  if (question) logAnswer(question, given, options);
}

function logAnswer(question: Question, given: Answer, { log, logRefusal }: ServiceOptions): void {
  const { client, host, port } = question;
  if (!given.allowed) logRefusal(question, given);
  else log("debug", "Allowed", { client, sandbox: given.sandbox.name, host, port, address: given.address });
}

function take({ connections, refused }: z.infer<typeof reportSchema>, { metrics, logRefusal }: ServiceOptions): void {
  metrics.connected(connections);
  if (!refused) return;
  metrics.refused("proxy");
  logRefusal(refused, { ...refused, cause: "proxy" });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.split("\n", 1)[0] ?? "");
  } catch {
    return undefined;
  }
}
