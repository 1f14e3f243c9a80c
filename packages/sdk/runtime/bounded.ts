/** Reads answers no further than is good for this machine: a sandbox sends what it likes, and gzip makes much of little. @module */
import { type ObjectRef, SandboxError } from "../errors.ts";
import { chunksOf } from "./streams.ts";

/** What is read of an answer that is an error; what is longer is cut. */
export const WORDS_BYTES = 64 << 10;
/** Longest answer of JSON: a folder with some 300,000 files. */
export const JSON_BYTES = 32 << 20;
/** Longest message of a call: what an interpreter may say at once, 64 MiB of JSON, is no longer as a message. */
export const MESSAGE_BYTES = 64 << 20;

/** Reads a body as text, so many bytes at most, and leaves the rest; `isWhole` tells whether there was none. */
export async function textUpTo({ body }: Response, most: number): Promise<{ text: string; isWhole: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let left = most;
  if (body) {
    for await (const chunk of chunksOf(body)) {
      if (chunk.length > left) return { text: text + decoder.decode(chunk.subarray(0, left)), isWhole: false };
      left -= chunk.length;
      text += decoder.decode(chunk, { stream: true });
    }
  }
  return { text: text + decoder.decode(), isWhole: true };
}

/** Reads a body as JSON; undefined if it is none. @throws {@link SandboxError} if it is longer than so many bytes */
export async function jsonUpTo(answer: Response, most: number, action: string, object: ObjectRef): Promise<unknown> {
  const { text, isWhole } = await textUpTo(answer, most).catch(() => ({ text: "", isWhole: true }));
  if (!isWhole) throw tooLong(action, most, object);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same answer of a call, but that it fails where a message of it is longer than {@link MESSAGE_BYTES}. */
export function boundedMessages(answer: Response, action: string, object: ObjectRef): Response {
  const { status, headers, body } = answer;
  if (!body) return answer;
  const isStream = headers.get("Content-Type")?.startsWith("application/connect+") === true;
  const guard = isStream ? framesUpTo(MESSAGE_BYTES) : bytesUpTo(MESSAGE_BYTES);
  const passing = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      if (guard(chunk)) controller.enqueue(chunk);
      else controller.error(tooLong(action, MESSAGE_BYTES, object));
    },
  });
  return new Response(body.pipeThrough(passing), { status, headers });
}

/** Looks at what goes by; false once it is too long. */
type Guard = (chunk: Uint8Array) => boolean;

function bytesUpTo(most: number): Guard {
  let bytes = 0;
  return (chunk) => (bytes += chunk.length) <= most;
}

/** Flags, and how long the message behind them is. */
const HEAD_BYTES = 5;

function framesUpTo(most: number): Guard {
  const head = new Uint8Array(HEAD_BYTES);
  let known = 0;
  let left = 0;
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const step = Math.min(left, chunk.length - at);
        left -= step;
        at += step;
      } else {
        head[known++] = chunk[at++] ?? 0;
        if (known < HEAD_BYTES) continue;
        known = 0;
        left = new DataView(head.buffer).getUint32(1);
        if (left > most) return false;
      }
    }
    return true;
  };
}

function tooLong(action: string, most: number, object: ObjectRef): SandboxError {
  return new SandboxError(`Cannot ${action}: the answer is longer than ${most >> 20} MiB`, {
    object,
    reason: "TOO_LONG",
  });
}
