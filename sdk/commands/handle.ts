/** The handle of a command that runs in the background. @module */
import type { Inside } from "../inside/inside.ts";
import { collect, type Collecting, textOf } from "./collect.ts";
import { controlOf } from "./control.ts";
import { eventsOf } from "./events.ts";
import type { CommandHandle, CommandOutput } from "./types.ts";

/** Makes it; every reader of its output reads from the beginning, for itself. */
export function handleOf(inside: Inside, processId: number, action: string): CommandHandle {
  const { write, closeStdin, kill } = controlOf(inside, processId);
  const events = (signal?: AbortSignal) => eventsOf(inside, { processId }, action, signal);
  return {
    processId,
    write,
    closeStdin,
    kill,
    wait: async ({ check = false, signal } = {}) => {
      const collecting: Collecting = { action, object: inside.object, check };
      return await collect(events(signal), collecting);
    },
    get stdout() {
      return streamOf(outputOf(events()), "stdout");
    },
    get stderr() {
      return streamOf(outputOf(events()), "stderr");
    },
    [Symbol.asyncIterator]: () => outputOf(events())[Symbol.asyncIterator](),
  };
}

async function* outputOf(events: ReturnType<typeof eventsOf>): AsyncGenerator<CommandOutput> {
  for await (const piece of textOf(events)) if (piece.stream !== "lost") yield piece as CommandOutput;
}

function streamOf(output: AsyncGenerator<CommandOutput>, stream: CommandOutput["stream"]): ReadableStream<string> {
  return new ReadableStream<string>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await output.next();
        if (done) return controller.close();
        if (value.stream === stream) return controller.enqueue(value.text);
      }
    },
    async cancel() {
      await output.return(undefined);
    },
  });
}
