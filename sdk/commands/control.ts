/** What is done to a process that runs: input, signals, size. Sent once, but for kills. @module */
import { createClient } from "@connectrpc/connect";
import { ProcessesService } from "../../runtime/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService, Signal } from "../../runtime/gen/process/v1/process_pb.ts";
import { NotFoundError } from "../errors.ts";
import { errorOfConnect } from "../inside/connecterrors.ts";
import type { Inside } from "../inside/inside.ts";
import { repeating } from "../inside/repeat.ts";

/** Controls of one process. */
export interface Control {
  write(data: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  resize(size: { cols: number; rows: number }): Promise<void>;
  /** False if it has ended. */
  kill(signal?: "SIGINT" | "SIGTERM" | "SIGKILL"): Promise<boolean>;
}

/** A message of input is never longer. */
const INPUT_BYTES = 256 * 1024;

/** Makes them. */
export function controlOf(inside: Inside, processId: number): Control {
  const processes = createClient(ProcessesService, inside.transport);
  const process = createClient(ProcessService, inside.transport);
  const doing = async <T>(action: string, act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw errorOfConnect(error, `${action} process ${processId}`, inside.object);
    }
  };
  return {
    async write(data) {
      const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
      for (let at = 0; at < bytes.length; at += INPUT_BYTES) {
        const value = bytes.subarray(at, at + INPUT_BYTES);
        await doing("write to", () => process.writeStdin({ processId, payload: { case: "input", value } }));
      }
    },
    closeStdin: async () =>
      void await doing(
        "end the input of",
        () => process.writeStdin({ processId, payload: { case: "eof", value: {} } }),
      ),
    resize: async (size) => void await doing("resize", () => process.resizeTTY({ processId, ...size })),
    async kill(signal = "SIGKILL") {
      const send = () =>
        doing("kill", async () => {
          if (signal === "SIGKILL") await processes.kill({ processId });
          else await process.sendSignal({ processId, signal: Signal[signal] });
          return true;
        });
      try {
        return signal === "SIGKILL" ? await repeating(send, { repeatable: true }) : await send();
      } catch (error) {
        if (error instanceof NotFoundError) return false;
        throw error;
      }
    },
  };
}
