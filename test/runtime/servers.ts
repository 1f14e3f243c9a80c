/** A runtime on real sockets, and requests that send their path as it stands. @module */
import { Buffer } from "node:buffer";
import { Agent, request } from "node:http";
import { variable } from "../../packages/process/runprocess.ts";
import { readOptions } from "../../packages/runtime/options.ts";
import { type Runtime, startRuntime } from "../../packages/runtime/start.ts";
import { FREE_PORTS } from "./freeports.ts";

/** Starts a runtime on free ports of loopback, confined to a folder. */
export async function startTestRuntime(root: string, ...args: string[]): Promise<Runtime> {
  return await startOnLoopback(["--root", root, ...args]);
}

/** Starts one that serves all files of this machine. */
export async function startOpenRuntime(workdir: string, ...args: string[]): Promise<Runtime> {
  return await startOnLoopback(["--workdir", workdir, ...args]);
}

async function startOnLoopback(args: string[]): Promise<Runtime> {
  const ports = [...FREE_PORTS, "--shutdown-timeout", "5s"];
  return await startRuntime(readOptions(["--host", "127.0.0.1", ...ports, ...args], variable)!, () => {});
}

/** An answer, read whole. */
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  text: string;
}

/** What to send. */
export interface Sent {
  body?: string | Uint8Array;
  headers?: Record<string, string>;
  /** Ends the reading after this many bytes, for answers that do not end. */
  upTo?: number;
}

const AGENT = new Agent({ keepAlive: true });

/** Sends a request; `path` goes out as it stands, other than with `fetch`. */
export async function send(port: number, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  return await sendTo("127.0.0.1", port, method, path, sent);
}

/** The same, to another address. */
export async function sendTo(
  host: string,
  port: number,
  method: string,
  path: string,
  sent: Sent = {},
): Promise<Answer> {
  return await new Promise<Answer>((resolve, reject) => {
    const options = { host, port, method, path, headers: sent.headers, agent: AGENT };
    const asked = request(options, (answer) => {
      const parts: Buffer[] = [];
      const done = () => {
        const body = Buffer.concat(parts);
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body, text: body.toString() });
      };
      answer.on("data", (part: Buffer) => {
        parts.push(part);
        if (sent.upTo !== undefined && Buffer.concat(parts).length >= sent.upTo) {
          done();
          asked.destroy();
        }
      });
      answer.on("end", done);
      answer.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(sent.body);
  });
}

/** Makes a form with one file, as `requests` does. */
export function formOf(filename: string, content: string | Uint8Array, field = "file"): Required<Omit<Sent, "upTo">> {
  const head = `--BOUNDARY\r\nContent-Disposition: form-data; name="${field}"; filename="${filename}"\r\n\r\n`;
  return {
    headers: { "Content-Type": "multipart/form-data; boundary=BOUNDARY" },
    body: Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from("\r\n--BOUNDARY--\r\n")]),
  };
}
