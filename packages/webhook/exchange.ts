/** Defines a recorded exchange (a request of a hook with its answer), and converts it to a line of a recording. @module */
import * as z from "zod";

/** A request that was sent to a hook, and the answer. */
export interface Exchange {
  /** The `now` that was passed to the hook. */
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
  /** The process that was recorded: one run of a hook server. */
  process: z.string(),
  /** The command-line settings with which the hooks were created. */
  settings: z.record(z.string(), z.unknown()),
});
export type RecordingHeader = z.infer<typeof recordingHeaderSchema>;

/** Each line after the first. */
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

/** Returns the parts of a line, including the line end. The bodies are copied as they are, because they are JSON already. */
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

/** Returns the header line, including the line end. */
export function headerLine(header: RecordingHeader): Uint8Array {
  return encoder.encode(`${JSON.stringify(header)}\n`);
}

/** Replaces line breaks by spaces. In JSON, line breaks occur only between tokens, so this does not change the value. */
function onOneLine(json: Uint8Array): Uint8Array {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  return json.map((byte) => byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte);
}
