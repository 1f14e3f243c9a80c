/** Converts the events of a run to the messages of E2B's code interpreter protocol. @module */
import type { RunEnd } from "../../contexts/contexts.ts";
import type { Forms, KernelEvent } from "../../contexts/events.ts";

/** One message; its `type` says which fields it has. */
export type Message = { type: string } & Record<string, unknown>;

/** A run that may still wait for its turn. */
export interface Run {
  events: AsyncGenerator<KernelEvent | RunEnd>;
  /** The number of the run. Undefined: it still waits for its turn. */
  count(): number | undefined;
  /** Whether every line of output is a message of its own. */
  byLine: boolean;
  /** Whether the context still exists. */
  isKept(): boolean;
}

/** How long output is collected for one message, in milliseconds: as long as in IPython's kernel. */
const COLLECT_MS = 200;
/** Collected characters of output that become a message at once. */
const MOST_COLLECTED = 1 << 20;
/** Silence after which a message shows that the run goes on, in milliseconds. */
const SILENCE_MS = 5000;

type Stream = "stdout" | "stderr";

/** Output that waits for the rest of its message. */
interface Collected {
  stream: Stream;
  text: string;
  since: number;
}

/**
 * Yields the messages of a run. Clients keep each message of output as an entry of a list. So a message ends where the
 * program flushes its output, when {@link COLLECT_MS} are over, and before any other message.
 */
export async function* messagesOf({ events, count, byLine, isKept }: Run): AsyncGenerator<Message> {
  let collected: Collected | undefined;
  let lastAt = performance.now();
  let isCounted = false;
  const begin = function* (): Generator<Message> {
    const execution_count = count();
    if (isCounted || execution_count === undefined) return;
    isCounted = true;
    yield { type: "number_of_executions", execution_count };
  };
  const flush = function* (): Generator<Message> {
    if (collected) yield outputOf(collected.stream, collected.text);
    collected = undefined;
  };
  try {
    let arriving = arrivalOf(events);
    while (true) {
      const due = collected ? collected.since + COLLECT_MS : lastAt + SILENCE_MS;
      const read = await arriving.within(due - performance.now());
      yield* begin();
      lastAt = performance.now();
      if (read === undefined) {
        if (collected) yield* flush();
        else yield { type: "keepalive" };
        continue;
      }
      const { event, failed } = read;
      if (event === undefined) {
        yield* flush();
        if (failed !== undefined) yield errorOf(failed);
        break;
      }
      arriving = arrivalOf(events);
      const stream = "stdout" in event ? "stdout" : "stderr" in event ? "stderr" : undefined;
      if (stream === undefined) {
        yield* flush();
        yield* messageOf(event, isKept);
        continue;
      }
      const { [stream]: text = "", ends = [] } = event as Partial<Record<Stream, string>> & { ends?: number[] };
      if (collected && collected.stream !== stream) yield* flush();
      let from = 0;
      for (const end of byLine ? lineEnds(text) : ends) {
        collected = add(collected, stream, text.slice(from, end));
        yield* flush();
        from = end;
      }
      if (from < text.length) collected = add(collected, stream, text.slice(from));
      if (collected && collected.text.length > MOST_COLLECTED) yield* flush();
    }
    yield { type: "end_of_execution" };
  } finally {
    void events.return(undefined).catch(() => {});
  }
}

function add(before: Collected | undefined, stream: Stream, text: string): Collected | undefined {
  if (before) return { ...before, text: before.text + text };
  return text === "" ? undefined : { stream, text, since: performance.now() };
}

function lineEnds(text: string): number[] {
  return [...text.matchAll(/\n/g)].map(({ index }) => index + 1);
}

function outputOf(type: Stream, text: string): Message {
  // Nanoseconds since 1970, as the SDKs document it.
  return { type, text, timestamp: Date.now() * 1e6 };
}

function* messageOf(event: KernelEvent | RunEnd, isKept: () => boolean): Generator<Message> {
  if ("result" in event) yield { type: "result", ...resultOf(event.result, event.main) };
  else if ("error" in event) {
    // The next run gets a new interpreter, whatever the reason.
    const isRestart = event.error.name === "KernelDied" && isKept();
    yield { type: "error", ...event.error, ...isRestart ? { name: "ContextRestarting" } : {} };
  }
}

function errorOf(error: unknown): Message {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { type: "error", name, value: message, traceback: "" };
}

/** The next event, or why there is none. Neither: the run is over. */
interface Read {
  event?: KernelEvent | RunEnd;
  failed?: unknown;
}

/** Reads the next event. `within` may be called again when its time is over: a long silence costs no memory. */
function arrivalOf(events: Run["events"]): { within(ms: number): Promise<Read | undefined> } {
  let read: Read | undefined;
  let wake = () => {};
  void events.next().then(
    ({ done, value }) => done ? {} : { event: value },
    (failed) => ({ failed }),
  ).then((arrived) => {
    read = arrived;
    wake();
  });
  return {
    within: async (ms) => {
      if (read === undefined) {
        let timer: ReturnType<typeof setTimeout> | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, Math.max(0, ms));
        });
        clearTimeout(timer);
      }
      return read;
    },
  };
}

/** Fields of a result by MIME type. Clients take all other types from `extra`. */
const FIELDS: Record<string, string> = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "svg",
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/pdf": "pdf",
  "text/latex": "latex",
  "application/json": "json",
  "application/javascript": "javascript",
  "application/vnd.hookbox.data+json": "data",
  "application/vnd.hookbox.chart+json": "chart",
  // Code can show these types itself, as the formatters in E2B's own kernel do.
  "e2b/data": "data",
  "e2b/chart": "chart",
};
/** Fields whose values are JSON, and not text. */
const VALUES = new Set(["json", "data", "chart"]);

/** Converts the forms of a shown value to the fields of a result. A field without a value is left out. */
function resultOf(forms: Forms, isMain: boolean): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [mime, form] of Object.entries(forms)) {
    if (form === null || form === undefined) continue;
    const field = FIELDS[mime];
    if (field === undefined) extra[mime] = form;
    else fields[field] = VALUES.has(field) ? form : textOf(form);
  }
  if (typeof fields["text"] === "string") fields["text"] = withoutQuotes(fields["text"]);
  // The Python SDK reads `extra`. The JavaScript SDK takes the fields that it does not know instead.
  const others = Object.keys(extra).length > 0 ? { ...extra, extra } : {};
  return { ...others, ...fields, is_main_result: isMain };
}

function textOf(form: unknown): string {
  if (Array.isArray(form)) return form.join("");
  return typeof form === "string" ? form : JSON.stringify(form);
}

/** The text of a string is its `repr()`, in quotes. Users of the protocol expect the string. */
function withoutQuotes(text: string): string {
  return /^'.*'$|^".*"$/s.test(text) ? text.slice(1, -1) : text;
}
