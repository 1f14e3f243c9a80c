/** Reads answers no further than is good for this machine: a sandbox sends what it likes, and gzip makes much of little. @module */
import type { DescMessage } from "@bufbuild/protobuf";
import { type ObjectRef, SandboxError } from "../errors.ts";
import { fieldsUpTo } from "./fields.ts";
import { createGathered } from "../../process/gathered.ts";
import { countItems } from "../../process/jsonitems.ts";
import { chunksOf, streamOf } from "./streams.ts";

/** What is read of an answer that is an error; what is longer is cut. */
export const WORDS_BYTES = 64 << 10;
/** Longest answer of JSON: a folder with some 300,000 files. */
export const JSON_BYTES = 32 << 20;
/** Longest message of a call: what an interpreter may say at once, 64 MiB of JSON, is no longer as a message. */
export const MESSAGE_BYTES = 64 << 20;
/** Values in an answer of JSON, which take up to thirty times their bytes: a file of a folder has seven. */
const JSON_VALUES = 3_000_000;
/** Fields of a message, which take up to a hundred times their bytes: of a list of processes, and of what code shows. */
const UNARY_FIELDS = 250_000;
const STREAM_FIELDS = 2_000_000;
/** Values in the end of a stream: an error, its details, and headers. */
const END_VALUES = 10_000;

/** Reads a body as text, so many bytes at most, and leaves the rest; `isWhole` tells whether there was none. */
export async function textUpTo(answer: Response, most: number): Promise<{ text: string; isWhole: boolean }> {
  const { bytes, isWhole } = await bytesUpTo(answer, most);
  return { text: new TextDecoder().decode(bytes), isWhole };
}

async function bytesUpTo({ body }: Response, most: number): Promise<{ bytes: Bytes; isWhole: boolean }> {
  const gathered = createGathered();
  let isWhole = true;
  if (body) {
    for await (const chunk of chunksOf(body)) {
      const left = most - gathered.size();
      gathered.add(chunk.subarray(0, left));
      isWhole = chunk.length <= left;
      if (!isWhole) break;
    }
  }
  return { bytes: gathered.take(), isWhole };
}

/**
 * Reads a body as JSON; undefined if it is none.
 *
 * @throws {@link SandboxError} if it is longer than so many bytes, or has millions of values
 */
export async function jsonUpTo(answer: Response, most: number, action: string, object: ObjectRef): Promise<unknown> {
  const { bytes, isWhole } = await bytesUpTo(answer, most).catch(() => ({ bytes: new Uint8Array(), isWhole: true }));
  if (!isWhole) throw tooMuch(action, longer(most), object);
  if (countItems(bytes).items > JSON_VALUES) throw tooMuch(action, more(JSON_VALUES, "values"), object);
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * The same answer of a call, but that it fails where a message of it is longer than {@link MESSAGE_BYTES}, or has too many
 * fields. Each message comes whole: of its parts Connect keeps each, and looks at all of them for each.
 *
 * @param schema of its messages; undefined: their fields are not counted
 */
export function boundedMessages(
  answer: Response,
  schema: DescMessage | undefined,
  action: string,
  object: ObjectRef,
): Response {
  const { status, headers, body } = answer;
  if (!body) return answer;
  const isStream = headers.get("Content-Type")?.startsWith("application/connect+") === true;
  const mostFields = isStream ? STREAM_FIELDS : UNARY_FIELDS;
  const limits: Limits = {
    checkLength(length) {
      if (length > MESSAGE_BYTES) throw tooMuch(action, longer(MESSAGE_BYTES), object);
    },
    checkFields(message) {
      if (!schema || fieldsUpTo(schema, message, mostFields)) return;
      throw tooMuch(action, more(mostFields, "fields"), object);
    },
    checkEnd(json) {
      if (countItems(json).items <= END_VALUES) return;
      throw tooMuch(action, more(END_VALUES, "values at its end"), object);
    },
  };
  return new Response(streamOf((isStream ? framesOf : wholeOf)(chunksOf(body), limits)), { status, headers });
}

/** Each throws a {@link SandboxError}. */
interface Limits {
  checkLength(bytes: number): void;
  checkFields(message: Uint8Array): void;
  checkEnd(json: Uint8Array): void;
}

type Bytes = Uint8Array<ArrayBuffer>;

async function* wholeOf(chunks: AsyncIterable<Bytes>, { checkLength, checkFields }: Limits): AsyncGenerator<Bytes> {
  const gathered = createGathered();
  for await (const chunk of chunks) {
    checkLength(gathered.size() + chunk.length);
    gathered.add(chunk);
  }
  const message = gathered.take();
  checkFields(message);
  if (message.length > 0) yield message;
}

/** Flags, and how long the message behind them is. */
const HEAD_BYTES = 5;
/** Of the message behind it: it ends the stream, and is JSON. */
const END_FLAG = 2;

/** Gives messages one by one, each with its head; what is not whole at the end as it is. */
async function* framesOf(
  chunks: AsyncIterable<Bytes>,
  { checkLength, checkFields, checkEnd }: Limits,
): AsyncGenerator<Bytes> {
  const gathered = createGathered();
  let wanted = HEAD_BYTES;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + wanted - gathered.size());
      at += part.length;
      gathered.add(part);
      if (gathered.size() === HEAD_BYTES) {
        const { buffer, byteOffset } = gathered.peek();
        const length = new DataView(buffer, byteOffset).getUint32(1);
        checkLength(length);
        wanted += length;
      }
      if (gathered.size() < wanted) continue;
      const frame = gathered.take();
      wanted = HEAD_BYTES;
      const check = ((frame[0] ?? 0) & END_FLAG) === 0 ? checkFields : checkEnd;
      check(frame.subarray(HEAD_BYTES));
      yield frame;
    }
  }
  if (gathered.size() > 0) yield gathered.take();
}

function longer(most: number): string {
  return `is longer than ${most >> 20} MiB`;
}

function more(most: number, what: string): string {
  return `has more than ${most.toLocaleString("en-US")} ${what}`;
}

function tooMuch(action: string, how: string, object: ObjectRef): SandboxError {
  return new SandboxError(`Cannot ${action}: the answer ${how}`, { object, reason: "TOO_LONG" });
}
