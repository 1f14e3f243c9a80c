/** Runs commands in sandboxes without hookbox's runtime: by `POST /execute`, or through the API server. @module */
import * as z from "zod";
import { shellWord } from "../../api/shellwords.ts";
import { SandboxError, TimeoutError, UnsupportedError } from "../errors.ts";
import { errorOfAnswer } from "../runtime/answers.ts";
import { jsonUpTo, MESSAGE_BYTES } from "../runtime/bounded.ts";
import { after } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import type { ExecSession, SandboxTransport } from "../transport/transport.ts";
import type { CommandOptions } from "./commands.ts";
import { type ProcessEvent, wrappedArgvOf } from "./process.ts";

/** Port of the example runtimes. Source: Agent Sandbox API, section 9.1. */
const LEGACY_PORT = 8888;
const answerSchema = z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.number() });

/**
 * Runs a command once. All of its output arrives when it ends. At the time limit the function throws, but the command
 * may continue to run.
 *
 * @throws {@link UnsupportedError} if no runtime in the sandbox can run commands
 */
export async function* eventsOfLegacy(
  { transport, object }: RuntimeClient,
  argv: string[],
  action: string,
  { timeoutMs, signal }: Pick<CommandOptions, "timeoutMs" | "signal">,
): AsyncGenerator<ProcessEvent> {
  const limit = new AbortController();
  const cancel = after(timeoutMs ?? Infinity, () => limit.abort());
  const signals = signal ? [signal, limit.signal] : [limit.signal];
  // The example runtimes split the command by a shell's rules.
  const body = JSON.stringify({ command: argv.map(shellWord).join(" ") });
  const headers = { "Content-Type": "application/json" };
  try {
    const answer = await transport.fetch(LEGACY_PORT, "/execute", {
      method: "POST",
      headers,
      body,
      signal: AbortSignal.any(signals),
    });
    if (!answer.ok) {
      const error = await errorOfAnswer(answer, action, object, transport.kind);
      if (!(error instanceof UnsupportedError)) throw error;
      const remedy = "Use an image with hookbox's runtime, or a client that reaches the API server.";
      throw new UnsupportedError(`Cannot ${action}: the sandbox has no runtime that runs commands`, { object, remedy });
    }
    const { stdout, stderr, exit_code: exitCode } = answerSchema.parse(
      await jsonUpTo(answer, MESSAGE_BYTES, action, object),
    );
    const encoder = new TextEncoder();
    yield { type: "output", stream: "stdout", bytes: encoder.encode(stdout) };
    yield { type: "output", stream: "stderr", bytes: encoder.encode(stderr) };
    yield { type: "end", exitCode, signal: "", timedOut: false };
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.signal.aborted) {
      const remedy = "Raise `timeoutMs`. The command may still run.";
      throw new TimeoutError(`Cannot ${action}: it took longer than ${timeoutMs} ms`, { object, remedy, cause: error });
    }
    if (error instanceof SandboxError) throw error;
    throw new SandboxError(`Cannot ${action}: the answer is invalid`, { object, cause: error });
  } finally {
    cancel();
  }
}

/** Starts a command through the API server. */
export async function startByExec(
  transport: SandboxTransport,
  command: string | string[],
  options: Pick<CommandOptions, "cwd" | "env" | "envs" | "signal"> & {
    stdin: boolean;
    size?: { cols: number; rows: number };
  },
): Promise<ExecSession> {
  if (!transport.exec) throw new UnsupportedError("Cannot run a command: this transport can only forward ports");
  const { stdin, size, signal } = options;
  return await transport.exec({ command: wrappedArgvOf(command, options), stdin, signal, ...size ? { size } : {} });
}

/** Converts a session to the events of a process. At the time limit it throws, but the command may continue to run. */
export async function* eventsOfExec(
  session: ExecSession,
  action: string,
  timeoutMs: number | undefined,
): AsyncGenerator<ProcessEvent> {
  let isLate = false;
  const cancel = after(timeoutMs ?? Infinity, () => {
    isLate = true;
    session.close();
  });
  try {
    for await (const event of session.events) {
      yield event.type === "end" ? { ...event, signal: "", timedOut: false } : event;
    }
  } catch (error) {
    if (!isLate) throw error;
    const remedy =
      "Raise `timeoutMs`. It may still run: without hookbox's runtime in the sandbox, the SDK cannot end it.";
    throw new TimeoutError(`Cannot ${action}: it took longer than ${timeoutMs} ms`, { remedy, cause: error });
  } finally {
    cancel();
    session.close();
  }
}
