/** Messages of the Connect protocol as bytes, as E2B's clients send and read them. @module */
import { Buffer } from "node:buffer";
import { request } from "node:http";

/** A message of a stream. */
export interface Frame {
  /** 2: the last one. */
  flag: number;
  // deno-lint-ignore no-explicit-any
  message: any;
}

/** Wraps a message. */
function frameOf(message: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
}

/** An open stream. */
export interface RawStream {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  frames: AsyncGenerator<Frame>;
  /** Closes the connection. */
  leave(): void;
}

/** Opens a stream, with these messages as its whole request. Resolves with the head of the response. */
export async function openStream(
  port: number,
  path: string,
  messages: unknown[],
  headers: Record<string, string> = {},
): Promise<RawStream> {
  return await new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: "127.0.0.1", port, method: "POST", path },
        headers: {
          "Content-Type": "application/connect+json",
          "Connect-Protocol-Version": "1",
          // Both clients send it.
          "Accept-Encoding": "gzip, deflate",
          ...headers,
        },
      },
      (answer) => {
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          frames: framesIn(answer),
          leave: () => sent.destroy(),
        });
      },
    );
    sent.on("error", reject);
    for (const message of messages) sent.write(frameOf(message));
    sent.end();
  });
}

async function* framesIn(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let left = Buffer.alloc(0);
  for await (const part of source) {
    left = Buffer.concat([left, part]);
    while (left.length >= 5 && left.length >= 5 + left.readUInt32BE(1)) {
      const end = 5 + left.readUInt32BE(1);
      yield { flag: left[0]!, message: JSON.parse(left.subarray(5, end).toString()) };
      left = left.subarray(end);
    }
  }
}

/** Reads a stream to its end. */
export async function allOf(stream: RawStream): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of stream.frames) frames.push(frame);
  return frames;
}

/** Returns the next message. @throws {Error} if there is none */
export async function nextOf({ frames }: RawStream): Promise<Frame> {
  const { done, value } = await frames.next();
  if (done) throw new Error("Cannot read on: the stream has ended");
  return value;
}
