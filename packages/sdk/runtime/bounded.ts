/** Limits how much of a response is read, because a sandbox may send any amount. @module */
import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import { countItems } from "../../api/objects/json.ts";
import { ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../runtime-api/gen/process/v1/process_pb.ts";
import { type ObjectRef, SandboxError } from "../errors.ts";
import { chunksOf, streamOf } from "./streams.ts";

/** Bytes that are read of an error response; the rest is cut off. */
export const WORDS_BYTES = 64 << 10;
/** Longest JSON response, in bytes: enough for a folder with about 300,000 files. */
export const JSON_BYTES = 32 << 20;
/**
 * Longest message of a call, in bytes. An interpreter may send 64 MiB of JSON at once, which is not longer as a
 * message.
 */
export const MESSAGE_BYTES = 64 << 20;
/**
 * Most values in a JSON response. In memory they may need thirty times their bytes. A file in a folder listing has
 * seven.
 */
const JSON_VALUES = 3_000_000;
/**
 * Most fields of a message; in memory they may need a hundred times their bytes. For a list of processes, and for
 * results of code.
 */
const UNARY_FIELDS = 250_000;
const STREAM_FIELDS = 2_000_000;
/** Most values in the message that ends a stream: an error, its details, and headers. */
const END_VALUES = 10_000;

/** Reads a body as text, up to this many bytes. `isWhole` is false if there was more. */
export async function textUpTo(answer: Response, most: number): Promise<{ text: string; isWhole: boolean }> {
  const { bytes, isWhole } = await bytesUpTo(answer, most);
  return { text: new TextDecoder().decode(bytes), isWhole };
}

async function bytesUpTo({ body }: Response, most: number): Promise<{ bytes: ByteSource; isWhole: boolean }> {
  const gathered = createByteBuffer();
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
 * Reads a body as JSON; undefined if it is not JSON.
 *
 * @throws {@link SandboxError} if it has more than `most` bytes, or more than 3,000,000 values
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
 * Returns the same response of a call, but reading it fails if a message is longer than {@link MESSAGE_BYTES} or has
 * too many fields. It yields each message in one chunk: Connect keeps all parts of a message, and searches all of them
 * for each new part.
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
  const limits: MessageLimits = {
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

/** Each function throws a {@link SandboxError} if a limit is exceeded. */
interface MessageLimits {
  checkLength(bytes: number): void;
  checkFields(message: Uint8Array): void;
  checkEnd(json: Uint8Array): void;
}

type ByteSource = Uint8Array<ArrayBuffer>;

async function* wholeOf(
  chunks: AsyncIterable<ByteSource>,
  { checkLength, checkFields }: MessageLimits,
): AsyncGenerator<ByteSource> {
  const gathered = createByteBuffer();
  for await (const chunk of chunks) {
    checkLength(gathered.size() + chunk.length);
    gathered.add(chunk);
  }
  const message = gathered.take();
  checkFields(message);
  if (message.length > 0) yield message;
}

/** Bytes of a frame's head: flags, and the length of the message. */
const HEAD_BYTES = 5;
/** Flag of the last message of a stream, which is JSON. */
const END_FLAG = 2;

/** Yields one frame at a time: head and message. An incomplete frame at the end is yielded as it is. */
async function* framesOf(
  chunks: AsyncIterable<ByteSource>,
  { checkLength, checkFields, checkEnd }: MessageLimits,
): AsyncGenerator<ByteSource> {
  const gathered = createByteBuffer();
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

const METHODS = [ContextsService, ProcessesService, ProcessService].flatMap(({ typeName, methods }) =>
  methods.map(({ name, output }) => [`/${typeName}/${name}`, output] as const)
);
const OUTPUTS = new Map<string, DescMessage>(METHODS);

/** Returns the schema of a method's response by the method's path; undefined if there is no such method. */
export function outputAt(path: string): DescMessage | undefined {
  return OUTPUTS.get(path);
}

/** The fields of a message that are messages themselves, by field number. */
type Shape = Map<number, Shape>;

/**
 * Returns whether a message has at most this many fields, including unknown fields and those of nested messages. For
 * invalid data it returns true: the decoder will report it.
 */
export function fieldsUpTo(schema: DescMessage, bytes: Uint8Array, most: number): boolean {
  const reader = new BinaryReader(bytes);
  let left = most;
  const walk = (shape: Shape, end: number): boolean => {
    while (reader.pos < end) {
      if (left-- === 0) return false;
      const [number, wireType] = reader.tag();
      const inner = wireType === WireType.LengthDelimited ? shape.get(number) : undefined;
      if (!inner) reader.skip(wireType, number);
      else if (!walk(inner, reader.uint32() + reader.pos)) return false;
    }
    return true;
  };
  try {
    return walk(shapeOf(schema), bytes.length);
  } catch {
    return true;
  }
}

const shapes = new Map<DescMessage, Shape>();

function shapeOf(schema: DescMessage): Shape {
  const known = shapes.get(schema);
  if (known) return known;
  const shape: Shape = new Map();
  // Set before the fields are read, because a message type may contain itself.
  shapes.set(schema, shape);
  for (const { fieldKind, number, message } of schema.fields) {
    // An entry of a map is a message with the fields 1 (key) and 2 (value).
    if (fieldKind === "map") shape.set(number, new Map(message ? [[2, shapeOf(message)]] : []));
    else if (message) shape.set(number, shapeOf(message));
  }
  return shape;
}
