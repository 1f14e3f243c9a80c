/** MCP tools that run commands in a sandbox, and return the URLs at which they listen. @module */
import * as z from "zod";
import { InvalidArgumentError, TimeoutError, UnsupportedError } from "../../../sdk/errors.ts";
import { createOutput } from "../output.ts";
import { defineTool, READS, REPLACES, RUNS, SANDBOX, text, TIMEOUT_MS, type Tool } from "../tool.ts";

const COMMAND = {
  sandbox: SANDBOX,
  command: z.string().min(1).describe("A command line for sh, such as `cd project && npm test`"),
  cwd: z.string().optional().describe("Folder to run it in. Default: the working directory"),
  env: z.record(z.string(), z.string()).optional().describe("Added to the sandbox's environment"),
};

const REDIRECT = "To read all of it, redirect the output to a file (COMMAND >/tmp/output.txt 2>&1) and use read_file.";

export const executeCommand: Tool = defineTool({
  name: "execute_command",
  title: "Run a command",
  description:
    "Runs a shell command in a sandbox and waits for its end. An exit code other than 0 is a result, not an " +
    "error. Of long output, the beginning and the end are returned; to read all, redirect it to a file. At timeoutMs " +
    "the command is killed. For servers and other processes that keep running, use start_command.",
  input: {
    ...COMMAND,
    stdin: z.string().optional().describe("Standard input. Default: empty"),
    timeoutMs: z.int().min(1).max(86_400_000).default(TIMEOUT_MS).describe(
      "Kills the command after so many milliseconds",
    ),
    maxOutput: z.int().min(100).max(200_000).default(20_000)
      .describe("Characters of each of stdout and stderr that are returned"),
  },
  hints: RUNS,
  async run({ sandbox, command, cwd, env, stdin, timeoutMs, maxOutput }, { open, signal, user, progress }) {
    const { commands } = await open(sandbox);
    const output = createOutput(maxOutput, progress, REDIRECT);
    const given = {
      ...cwd === undefined ? {} : { cwd },
      ...env ? { env } : {},
      ...stdin === undefined ? {} : { stdin },
    };
    const ended = await commands.run(command, {
      ...given,
      ...output.handlers,
      timeoutMs,
      signal,
      user,
      maxOutputLength: 0,
    })
      .then(({ exitCode, signal }) => ({ exitCode, signal, timedOut: false }), (error) => {
        if (!(error instanceof TimeoutError)) throw error;
        return { exitCode: -1, signal: "SIGKILL", timedOut: true };
      });
    const how = ended.timedOut
      ? `killed after ${timeoutMs} ms (timeoutMs): raise timeoutMs, or use start_command`
      : ended.signal === undefined
      ? `exit code ${ended.exitCode}`
      : `ended by ${ended.signal}`;
    return {
      data: {
        exitCode: ended.exitCode,
        ...ended.signal === undefined ? {} : { signal: ended.signal },
        truncated: output.isClipped(),
        timedOut: ended.timedOut,
      },
      content: [text(how), ...output.content()],
      isError: ended.timedOut,
    };
  },
});

export const startCommand: Tool = defineTool({
  name: "start_command",
  title: "Start a command in the background",
  description:
    "Starts a shell command that keeps running, such as a server, and returns at once. Redirect its output to a file " +
    "to read it later: `npm start >server.log 2>&1`. get_url returns the URL of a port.",
  input: COMMAND,
  output: { processId: z.int().describe("For stop_command") },
  hints: RUNS,
  async run({ sandbox, command, cwd, env }, { open, signal, user }) {
    const { commands } = await open(sandbox);
    const given = { ...cwd === undefined ? {} : { cwd }, ...env ? { env } : {} };
    const { processId } = await commands.run(command, { ...given, background: true, signal, user });
    return { data: { processId }, content: [text(`Started as process ${processId}.`)] };
  },
});

export const stopCommand: Tool = defineTool({
  name: "stop_command",
  title: "Stop a background command",
  description: "Kills a command of start_command with everything that it has started.",
  input: { sandbox: SANDBOX, processId: z.int().describe("As start_command returned it") },
  output: { stopped: z.boolean().describe("False: it had ended already") },
  hints: REPLACES,
  async run({ sandbox, processId }, { open, signal, user }) {
    const { commands } = await open(sandbox);
    const stopped = await commands.kill(processId, { signal, user });
    return { data: { stopped }, content: [text(stopped ? `Stopped ${processId}.` : `${processId} does not run.`)] };
  },
});

export const getURL: Tool = defineTool({
  name: "get_url",
  title: "Get the URL of a port",
  description: "Returns the URL of a port on which a program in a sandbox listens, such as a web " +
    "server of start_command. With signedForMs, everybody who has the URL has access for that time.",
  input: {
    sandbox: SANDBOX,
    port: z.int().min(1).max(65_535),
    signedForMs: z.int().min(1000).max(604_800_000).optional().describe("Needs a router and its signing secret"),
  },
  output: { url: z.string() },
  hints: { ...READS, idempotentHint: false },
  async run({ sandbox, port, signedForMs }, { open, signal }) {
    const handle = await open(sandbox);
    const url = await handle.getUrl(port, { signedForMs, signal }).catch((error) => {
      const isSetting = error instanceof UnsupportedError || error instanceof InvalidArgumentError;
      throw isSetting ? noURL(port) : error;
    });
    return { data: { url }, content: [text(url)] };
  },
});

/** The SDK's own advice is for those who configure the server, not for a model. */
function noURL(port: number): UnsupportedError {
  return new UnsupportedError(`Cannot make a URL of port ${port}: the server is not set up for this`, {
    remedy: `In the sandbox, use http://127.0.0.1:${port} with execute_command. The operator of the server can set ` +
      "HOOKBOX_ROUTER_DOMAIN or HOOKBOX_ROUTER_PATH_PREFIX, and for signed URLs the router's signing secret.",
  });
}
