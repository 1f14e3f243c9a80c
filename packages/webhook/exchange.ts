/** One recorded request of a hook with its answer, and the lines of a recording. Reads and writes no file. @module */
import * as z from "zod";

/** A request that a hook was asked, and what was answered. */
export interface Exchange {
  /** The `now` that the hook was given. */
  at: Date;
  hook: string;
  endpoint: "sync" | "customize";
  status: number;
  /** Both bodies are JSON in UTF-8. */
  request: Uint8Array;
  answer: Uint8Array;
}

/** The first line of each file of a recording. */
export const recordingHeaderSchema = z.object({
  recording: z.literal(1),
  /** The process that was recorded: one hook server from its start to its end. */
  process: z.string(),
  /** The command line's settings that hooks are made with. */
  settings: z.record(z.string(), z.unknown()),
});
export type RecordingHeader = z.infer<typeof recordingHeaderSchema>;

/** Every other line. */
export const recordedExchangeSchema = z.object({
  at: z.iso.datetime(),
  hook: z.string(),
  endpoint: z.enum(["sync", "customize"]),
  status: z.int(),
  request: z.unknown(),
  answer: z.unknown(),
});
export type RecordedExchange = z.infer<typeof recordedExchangeSchema>;

const encoder = new TextEncoder();
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;

/** Returns the parts of a line, its end included: bodies are taken over as they are, for they are JSON already. */
export function exchangeLine({ at, hook, endpoint, status, request, answer }: Exchange): Uint8Array[] {
  const head = JSON.stringify({ at: at.toISOString(), hook, endpoint, status });
  return [
    encoder.encode(`${head.slice(0, -1)},"request":`),
    onOneLine(request),
    encoder.encode(',"answer":'),
    answer,
    encoder.encode("}\n"),
  ];
}

/** Returns the line, its end included. */
export function headerLine(header: RecordingHeader): Uint8Array {
  return encoder.encode(`${JSON.stringify(header)}\n`);
}

/** In JSON a line break stands between tokens only: a space says the same. */
function onOneLine(json: Uint8Array): Uint8Array {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  return json.map((byte) => byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte);
}
