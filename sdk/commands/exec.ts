/** Commands of sandboxes that have no runtime inside: by the API server, as `kubectl exec` does. @module */
import { ConnectionError, TimeoutError, UnsupportedError } from "../errors.ts";
import { type Inside, RUNTIME_PORT } from "../inside/inside.ts";
import type { ExecSession, Route } from "../route/route.ts";
import type { ProcessEvent } from "./events.ts";
import type { CommandOptions } from "./types.ts";

/** How long the runtime may take to say that it is there, in milliseconds. */
const PROBE_MS = 5000;

/**
 * Tells whether a call failed because hookbox's runtime is not inside: something else answers there, or nothing ever has,
 * which is asked once more.
 */
export async function lacksRuntime({ route, known }: Inside, error: unknown): Promise<boolean> {
  // Runtimes of others may have files and health on the same port.
  if (error instanceof UnsupportedError) known.runtime = false;
  if (known.runtime !== undefined || !(error instanceof ConnectionError)) return known.runtime === false;
  const answers = await route.fetch(RUNTIME_PORT, "/v1/health", { signal: AbortSignal.timeout(PROBE_MS) })
    .then(async (answer) => (await answer.text(), answer.status !== 404), () => false);
  known.runtime = answers;
  return !answers;
}

/** Starts a command so. */
export async function startByExec(
  route: Route,
  command: string | string[],
  options: Pick<CommandOptions, "cwd" | "env" | "signal"> & { stdin: boolean; size?: { cols: number; rows: number } },
): Promise<ExecSession> {
  if (!route.exec) throw new UnsupportedError("Cannot run a command: this way leads to ports alone");
  const { stdin, size, signal } = options;
  return await route.exec({ command: argvOf(command, options), stdin, signal, ...size ? { size } : {} });
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

/** A shell changes the folder, `env` sets variables: the API server can do neither. */
export function argvOf(command: string | string[], { cwd, env = {} }: Pick<CommandOptions, "cwd" | "env">): string[] {
  const argv = typeof command === "string" ? ["/bin/sh", "-c", command] : command;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const withEnv = variables.length > 0 ? ["env", ...variables, ...argv] : argv;
  return cwd === undefined ? withEnv : ["/bin/sh", "-c", 'cd "$0" && exec "$@"', cwd, ...withEnv];
}
