/** Commands of sandboxes that have no runtime inside: by the API server, as `kubectl exec` does. @module */
import { TimeoutError, UnsupportedError } from "../errors.ts";
import type { ExecSession, SandboxTransport } from "../transport/transport.ts";
import { wrappedArgvOf } from "./argv.ts";
import type { ProcessEvent } from "./events.ts";
import type { CommandOptions } from "./types.ts";

/** Starts a command so. */
export async function startByExec(
  transport: SandboxTransport,
  command: string | string[],
  options: Pick<CommandOptions, "cwd" | "env" | "envs" | "signal"> & {
    stdin: boolean;
    size?: { cols: number; rows: number };
  },
): Promise<ExecSession> {
  if (!transport.exec) throw new UnsupportedError("Cannot run a command: this way leads to ports alone");
  const { stdin, size, signal } = options;
  return await transport.exec({ command: wrappedArgvOf(command, options), stdin, signal, ...size ? { size } : {} });
}

/** Reads a session as the events of a process; at the limit it throws, and the command may go on. */
export async function* eventsOfExec(
  session: ExecSession,
  action: string,
  timeoutMs: number | undefined,
): AsyncGenerator<ProcessEvent> {
  let isLate = false;
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => {
    isLate = true;
    session.close();
  }, timeoutMs);
  try {
    for await (const event of session.events) {
      yield event.type === "end" ? { ...event, signal: "", timedOut: false } : event;
    }
  } catch (error) {
    if (!isLate) throw error;
    const remedy = "It may still run: a sandbox without hookbox's runtime cannot be told to end it.";
    throw new TimeoutError(`Cannot ${action}: it took longer than ${timeoutMs} ms`, { remedy, cause: error });
  } finally {
    clearTimeout(timer);
    session.close();
  }
}
