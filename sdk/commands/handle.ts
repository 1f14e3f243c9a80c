/** The handle of a command that runs in the background. @module */
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { streamOf } from "../runtime/streams.ts";
import { collect, type Collecting, textOf } from "./collect.ts";
import { controlOf } from "./control.ts";
import { eventsOf } from "./events.ts";
import type { CommandHandle, CommandOutput } from "./types.ts";

/** Makes it; every reader of its output reads from the beginning, for itself. */
export function handleOf(runtimeClient: RuntimeClient, processId: number, action: string): CommandHandle {
  const { write, closeStdin, kill } = controlOf(runtimeClient, processId);
  const events = (signal?: AbortSignal) => eventsOf(runtimeClient, { processId }, action, signal);
  const read = (stream: CommandOutput["stream"]): ReadableStream<string> => {
    const unwanted = new AbortController();
    const texts = textsOf(outputOf(events(unwanted.signal)), stream);
    return streamOf(texts, { onCancel: () => unwanted.abort() });
  };
  return {
    processId,
    write,
    closeStdin,
    kill,
    wait: async ({ check = false, signal } = {}) => {
      const collecting: Collecting = { action, object: runtimeClient.object, check };
      return await collect(events(signal), collecting);
    },
    get stdout() {
      return read("stdout");
    },
    get stderr() {
      return read("stderr");
    },
    [Symbol.asyncIterator]: () => outputOf(events())[Symbol.asyncIterator](),
  };
}

async function* outputOf(events: ReturnType<typeof eventsOf>): AsyncGenerator<CommandOutput> {
  for await (const piece of textOf(events)) if (piece.stream !== "lost") yield piece as CommandOutput;
}

async function* textsOf(
  output: AsyncIterable<CommandOutput>,
  wanted: CommandOutput["stream"],
): AsyncGenerator<string> {
  for await (const { stream, text } of output) if (stream === wanted) yield text;
}
