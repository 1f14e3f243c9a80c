/** Defines and reads the runtime's command line options. @module */
import { ENVD_PORT, INTERPRETER_PORT, RUNTIME_PORT } from "../api/router/protocol.ts";
import {
  choice,
  DURATION,
  type Environment,
  flag,
  LIST,
  OPTIONAL_PORT,
  PORT,
  type Program,
  readCommandLine,
  SIZE,
  TEXT,
  type Values,
} from "../process/flags.ts";
import { ALLOWED_HOSTS, LOG_LEVEL } from "../process/sharedflags.ts";

const DEFAULT_TOKEN_FILE = "/var/run/secrets/hookbox/runtime/token";

const since = "0.1.0";

export const RUNTIME = {
  name: "hookbox runtime",
  about: "The process inside a sandbox: runs commands and code, and serves files and terminals.",
  flags: {
    root: flag(TEXT, {
      help: "folder to which requests are confined, and in which commands run; created if it does not exist",
      since,
      placeholder: "DIR",
      otherwise: "requests reach all files",
      env: "SANDBOX_BASE_DIR",
      aliases: ["root-dir"],
    }),
    workdir: flag(TEXT, {
      help: "folder in which commands run and relative paths start; created if it does not exist",
      since: "0.3.0",
      placeholder: "DIR",
      otherwise: "the image's WORKDIR; if that is /, /workspace; if that cannot be created, the home directory",
    }),
    user: flag(TEXT, {
      help:
        "user that commands, code and terminals run as, and that files belong to; needs a runtime that starts as root",
      since: "0.3.0",
      placeholder: "U",
      otherwise: "the user of the container",
    }),
    "allow-users": flag(LIST, {
      help: "users that a call may choose, besides that of --user; needs a container that starts as root",
      since: "0.3.0",
      placeholder: "U,V",
      default: "",
    }),
    host: flag(TEXT, {
      help: "address to listen on",
      since,
      placeholder: "H",
      default: "0.0.0.0",
      aliases: ["listen-host"],
    }),
    port: flag(PORT, {
      help: "HTTP: execute, upload, download, list, exists; 0: any free port",
      since,
      default: "8888",
    }),
    "rest-port": flag(PORT, {
      help: "HTTP: /v1/files and more, Connect and gRPC-web",
      since,
      default: String(RUNTIME_PORT),
    }),
    "grpc-port": flag(PORT, { help: "gRPC: process.v1.ProcessService", since, default: "9090" }),
    "envd-port": flag(OPTIONAL_PORT, {
      help: "HTTP: E2B's protocol for commands, terminals and files; off: not served",
      since: "0.3.0",
      default: String(ENVD_PORT),
    }),
    "interpreter-port": flag(OPTIONAL_PORT, {
      help: "HTTP: E2B's code interpreter protocol; off: not served",
      since: "0.3.0",
      default: String(INTERPRETER_PORT),
    }),
    "metadata-env-prefix": flag(TEXT, {
      help: "prefix of the variables that /v1/metadata shows, except names that suggest a secret",
      since,
      placeholder: "X",
      default: "SANDBOX_",
    }),
    "exec-timeout": flag(DURATION, {
      help: "time limit of POST /execute if the request has none",
      since,
      default: "300s",
      env: "SANDBOX_EXEC_TIMEOUT_SECONDS",
    }),
    "max-output": flag(SIZE, { help: "bytes kept of each output of a command", since, default: "8Mi" }),
    "max-upload": flag(SIZE, { help: "largest file or tar", since, default: "4Gi" }),
    "token-file": flag(TEXT, {
      help: "requests need the bearer token in this file, which is read for each request",
      since,
      placeholder: "F",
      otherwise: `${DEFAULT_TOKEN_FILE} if it is mounted, otherwise no token`,
    }),
    "derive-token-from": flag(TEXT, {
      help: "derive the token from the key in this file and --pod-uid, write it to --token-file, and exit",
      since: "0.3.0",
      placeholder: "F",
      otherwise: "serve",
    }),
    "token-scope": flag(choice(["all", "bind"], "S"), {
      help: "what requires the token: all (except health), or only bind, for late binding",
      since,
      default: "all",
    }),
    "allowed-hosts": ALLOWED_HOSTS,
    "pod-uid": flag(TEXT, {
      help: "UID of the Pod that it runs in, which the downward API can set",
      since: "0.3.0",
      placeholder: "U",
      default: "",
      env: "HOOKBOX_POD_UID",
    }),
    "claim-uid": flag(TEXT, {
      help:
        "UID of the claim that the Pod belonged to when it started: processes and requests for files wait for what it passes",
      since: "0.3.0",
      placeholder: "U",
      default: "",
      env: "HOOKBOX_CLAIM_UID",
    }),
    "shutdown-timeout": flag(DURATION, {
      help: "how long running requests may continue after SIGTERM",
      since,
      default: "10s",
    }),
    "log-level": LOG_LEVEL,
  },
  notes: "Durations: 500ms, 10s, 5m, or seconds. Sizes: bytes, or with Ki, Mi, Gi.",
} satisfies Program;

/** The options. Times are in milliseconds, sizes in bytes. */
export interface RuntimeOptions extends Omit<Values<typeof RUNTIME.flags>, "tokenFile"> {
  tokenFile: string;
  /** Whether the token file was set explicitly. If so, nobody has access while the file does not exist. */
  tokenRequired: boolean;
}

/** Reads the arguments; undefined if they ask for help. @throws {RangeError} if an option is invalid */
export function readOptions(args: string[], env?: Environment): RuntimeOptions | undefined {
  const values = readCommandLine(RUNTIME, args, env)?.values;
  if (!values) return undefined;
  const { port, restPort, grpcPort, envdPort, interpreterPort } = values;
  const ports = [port, restPort, grpcPort, envdPort, interpreterPort];
  const fixed = ports.filter((port) => port !== 0 && port !== undefined);
  const twice = fixed.find((port, i) => fixed.indexOf(port) !== i);
  if (twice !== undefined) throw new RangeError(`Cannot listen on port ${twice} twice: each protocol has its own`);
  const { tokenFile, root, workdir } = values;
  if (root !== undefined && workdir !== undefined) {
    throw new RangeError("Cannot use --workdir with --root: commands run in the root");
  }
  return { ...values, tokenFile: tokenFile ?? DEFAULT_TOKEN_FILE, tokenRequired: tokenFile !== undefined };
}
