/** Bytes on a connection of their own, until it ends; and what this process still has open. @module */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { listProcesses } from "../../packages/process/proctable.ts";
import fc from "../properties.ts";

/**
 * How a client leaves: once it has an answer, or soon where none comes, having sent all, in two parts, half of it, or by a
 * reset; or not at all, before the other side does.
 */
export type Leaving = "patient" | "answered" | "sent" | "halves" | "cut" | "reset" | "stays";

export const leaving: fc.Arbitrary<Leaving> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Leaving>("answered") },
  { weight: 2, arbitrary: fc.constantFrom<Leaving>("sent", "halves", "cut", "reset") },
);

/** Long for an end, on a busy machine too, and short for a test. */
export const PATIENCE_MS = 60_000;
/** Turns of the event loop without a byte after which no answer is waited for: it takes five or so through a proxy. */
const TURNS = 200;

/**
 * Sends bytes, each character one, and leaves; returns all that comes until the connection ends.
 *
 * @throws {Error} if it does not end
 */
export async function speak(port: number, text: string, how: Leaving): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  const parts: Uint8Array[] = [];
  socket.on("data", (part) => parts.push(part)).on("error", () => {});
  const said = () => Buffer.concat(parts).toString("latin1");
  const closed = new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`Cannot see the end of a connection that was left: it has said ${JSON.stringify(said())}`));
    }, PATIENCE_MS);
    socket.once("close", () => {
      clearTimeout(late);
      resolve();
    });
  });
  await once(socket, "connect");
  const bytes = Buffer.from(text, "latin1");
  await leave(socket, bytes, how, () => parts.length > 0);
  await closed;
  // What breaks because of this breaks now.
  await setImmediate();
  return said();
}

async function leave(socket: Socket, bytes: Buffer, how: Leaving, isAnswered: () => boolean): Promise<void> {
  const middle = bytes.length >> 1;
  if (how === "sent") return void socket.end(bytes);
  if (how === "cut") return void socket.end(bytes.subarray(0, middle));
  if (how === "stays") return void socket.write(bytes);
  if (how === "reset") return void socket.write(bytes, () => socket.resetAndDestroy());
  if (how === "halves") {
    socket.write(bytes.subarray(0, middle));
    await setImmediate();
  }
  socket.write(how === "halves" ? bytes.subarray(middle) : bytes);
  const turns = how === "patient" ? Infinity : TURNS;
  for (let turn = 0; turn < turns && !isAnswered() && !socket.destroyed; turn++) await setImmediate();
  socket.end();
}

const COUNTED = new Set(["TCPSocketWrap", "ProcessWrap", "PipeWrap", "FSEventWrap", "TTYWrap"]);

/** Counts what this process has open: connections, children, their pipes, watches of files. */
export function openResources(): number {
  return process.getActiveResourcesInfo().filter((name) => COUNTED.has(name)).length;
}

/** Counts the children of this process that run. */
export function runningChildren(): number {
  return listProcesses().filter(({ ppid, state }) => ppid === process.pid && state !== "Z").length;
}

/** Gathers what would have ended the process, until `stop`. */
export function watchForCrashes(): { crashes: unknown[]; stop(): void } {
  const crashes: unknown[] = [];
  const note = (error: unknown) => void crashes.push(error);
  const kept = EVENTS.map((event) => [event, process.listeners(event as "uncaughtException")] as const);
  // Vitest's own would end the test without saying on which input.
  for (const event of EVENTS) process.removeAllListeners(event).on(event, note);
  return {
    crashes,
    stop() {
      for (const [event, listeners] of kept) {
        process.removeAllListeners(event);
        for (const listener of listeners) process.on(event, listener);
      }
    },
  };
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;
