/** Handles of commands in the background, and functions that control a process. @module */
import { createClient } from "@connectrpc/connect";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService, Signal } from "../../runtime-api/gen/process/v1/process_pb.ts";
import { NotFoundError } from "../errors.ts";
import { call, type CallOptions } from "../runtime/call.ts";
import { repeating } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { streamOf } from "../runtime/streams.ts";
import { collect, type Collecting, textOf } from "./collect.ts";
import { eventsOf } from "./events.ts";
import type { CommandHandle, CommandOutput } from "./types.ts";

/** Creates the handle. Each reader of the output starts at the beginning and is independent of the others. */
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

/** Functions that control one process. */
export interface Control {
  write(data: string | Uint8Array, options?: CallOptions): Promise<void>;
  closeStdin(options?: CallOptions): Promise<void>;
  resize(size: { cols: number; rows: number }, options?: CallOptions): Promise<void>;
  /** Sends a signal. Returns false if the process has ended. */
  kill(signal?: "SIGINT" | "SIGTERM" | "SIGKILL", options?: CallOptions): Promise<boolean>;
}

/** Largest message of input, in bytes; longer input is split. */
const INPUT_BYTES = 256 * 1024;

/** Creates the control functions of a process. */
export function controlOf(runtimeClient: RuntimeClient, processId: number): Control {
  const processes = createClient(ProcessesService, runtimeClient.connectTransport);
  const process = createClient(ProcessService, runtimeClient.connectTransport);
  const doing = (action: string, options: CallOptions, send: (options: { signal?: AbortSignal }) => Promise<unknown>) =>
    call(runtimeClient, `${action} process ${processId}`, options, send);
  return {
    async write(data, options = {}) {
      const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
      for (let at = 0; at < bytes.length; at += INPUT_BYTES) {
        const value = bytes.subarray(at, at + INPUT_BYTES);
        const request = { processId, payload: { case: "input", value } } as const;
        await doing("write to", options, (sent) => process.writeStdin(request, sent));
      }
    },
    async closeStdin(options = {}) {
      const request = { processId, payload: { case: "eof", value: {} } } as const;
      await doing("end the input of", options, (sent) => process.writeStdin(request, sent));
    },
    async resize(size, options = {}) {
      await doing("resize", options, (sent) => process.resizeTTY({ processId, ...size }, sent));
    },
    async kill(name = "SIGKILL", options = {}) {
      const isFinal = name === "SIGKILL";
      const request = { processId, signal: Signal[name] };
      const send = () =>
        doing(
          "kill",
          options,
          (sent) => isFinal ? processes.kill({ processId }, sent) : process.sendSignal(request, sent),
        );
      try {
        await (isFinal ? repeating(send, { repeatable: true, ...options }) : send());
        return true;
      } catch (error) {
        if (error instanceof NotFoundError) return false;
        throw error;
      }
    },
  };
}
