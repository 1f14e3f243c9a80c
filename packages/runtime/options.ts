/** The runtime's command line. Reads nothing but its arguments and the environment it is given. @module */
import { parseArgs } from "node:util";
import { LONGEST_TIMER_MS } from "../process/clock.ts";
import { parseDuration } from "../process/durations.ts";
import { hostsOf } from "../process/hosts.ts";
import type { LogLevel } from "../process/log.ts";

/** What the command line says. */
export interface RuntimeOptions {
  root: string;
  host: string;
  /** 0 takes a free port. */
  port: number;
  restPort: number;
  grpcPort: number;
  metadataPrefix: string;
  shutdownMs: number;
  execTimeoutMs: number;
  /** Bytes of each of stdout and stderr. */
  outputBytes: number;
  maxUploadBytes: number;
  tokenFile: string;
  /** The file was named: without it nobody is let in. */
  tokenRequired: boolean;
  tokenScope: "all" | "bind";
  /** Names of this machine beside localhost. */
  allowedHosts: string[];
  /** `metadata.uid` of this process's Pod, from the downward API; empty: not set. */
  podUID: string;
  logLevel: LogLevel;
  help: boolean;
}

const DEFAULT_TOKEN_FILE = "/var/run/secrets/hookbox/runtime/token";

const OPTIONS = {
  root: { type: "string" },
  "root-dir": { type: "string" },
  host: { type: "string" },
  "listen-host": { type: "string" },
  port: { type: "string", default: "8888" },
  "rest-port": { type: "string", default: "8080" },
  "grpc-port": { type: "string", default: "9090" },
  "metadata-env-prefix": { type: "string", default: "SANDBOX_" },
  "shutdown-timeout": { type: "string", default: "10s" },
  "exec-timeout": { type: "string" },
  "max-output": { type: "string", default: "8Mi" },
  "max-upload": { type: "string", default: "4Gi" },
  "token-file": { type: "string" },
  "token-scope": { type: "string", default: "all" },
  "allowed-hosts": { type: "string", default: "" },
  "pod-uid": { type: "string" },
  "log-level": { type: "string", default: "info" },
  help: { type: "boolean", default: false },
} as const;

export const HELP = `Usage: hookbox runtime [options]

The process inside a sandbox: runs commands and serves files, confined to one folder.

Options:
  --root DIR             the folder that it serves, made if missing (default: SANDBOX_BASE_DIR, or /workspace)
  --host H               address to listen on (default 0.0.0.0)
  --port P               HTTP: execute, upload, download, list, exists (default 8888; 0: any free port)
  --rest-port P          HTTP: /v1/files and more, Connect and gRPC-web (default 8080)
  --grpc-port P          gRPC: process.v1.ProcessService (default 9090)
  --metadata-env-prefix X
                         variables that /v1/metadata shows, but for those named like a secret (default SANDBOX_)
  --exec-timeout D       limit of POST /execute where the request names none
                         (default: SANDBOX_EXEC_TIMEOUT_SECONDS, or 300s)
  --max-output N         bytes kept of each of a command's outputs (default 8Mi)
  --max-upload N         largest file or tar (default 4Gi)
  --token-file F         requests need the bearer token in this file; it is read anew for each. Without the option:
                         ${DEFAULT_TOKEN_FILE} where that is mounted, else no token
  --token-scope S        what the token guards: all (but health), or bind for late binding alone (default all)
  --allowed-hosts H,I    names beside localhost that requests without a token may come to over loopback
  --pod-uid U            UID of the Pod that it runs in (default: HOOKBOX_POD_UID, which the downward API can set)
  --shutdown-timeout D   how long running requests may go on after SIGTERM (default 10s)
  --log-level L          debug, info, warn or error (default info)

Durations: 500ms, 10s, 5m, or seconds. Sizes: bytes, or with Ki, Mi, Gi. --root-dir and --listen-host are other names of
--root and --host.
`;

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[], env: Record<string, string | undefined>): RuntimeOptions {
  const { values } = parseArgs({ args, options: OPTIONS });
  const execTimeout = values["exec-timeout"] ?? env["SANDBOX_EXEC_TIMEOUT_SECONDS"] ?? "300s";
  return {
    root: values.root ?? values["root-dir"] ?? env["SANDBOX_BASE_DIR"] ?? "/workspace",
    host: values.host ?? values["listen-host"] ?? "0.0.0.0",
    ...portsOf(values.port, values["rest-port"], values["grpc-port"]),
    metadataPrefix: values["metadata-env-prefix"],
    shutdownMs: duration(values["shutdown-timeout"], "wait for"),
    execTimeoutMs: duration(execTimeout, "limit commands to"),
    outputBytes: size(values["max-output"], "keep output of"),
    maxUploadBytes: size(values["max-upload"], "take files of"),
    tokenFile: values["token-file"] ?? DEFAULT_TOKEN_FILE,
    tokenRequired: values["token-file"] !== undefined,
    tokenScope: oneOf(values["token-scope"], ["all", "bind"], "guard"),
    allowedHosts: hostsOf(values["allowed-hosts"]),
    podUID: values["pod-uid"] ?? env["HOOKBOX_POD_UID"] ?? "",
    logLevel: oneOf(values["log-level"], ["debug", "info", "warn", "error"], "log at level"),
    help: values.help,
  };
}

function portsOf(...texts: [string, string, string]): Pick<RuntimeOptions, "port" | "restPort" | "grpcPort"> {
  const [port = 0, restPort = 0, grpcPort = 0] = texts.map((text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value <= 65535) return value;
    throw new RangeError(`Cannot listen on port "${text}": it is not a whole number from 0 to 65535`);
  });
  const fixed = [port, restPort, grpcPort].filter((value) => value !== 0);
  const twice = fixed.find((value, i) => fixed.indexOf(value) !== i);
  if (twice !== undefined) throw new RangeError(`Cannot listen on port ${twice} twice: each protocol has its own`);
  return { port, restPort, grpcPort };
}

/** A bare number is seconds, as the published runtime has them. */
function duration(text: string, action: string): number {
  const ms = parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
  if (ms !== undefined) return Math.min(ms, LONGEST_TIMER_MS);
  throw new RangeError(`Cannot ${action} "${text}": it is not a duration such as 500ms, 10s or 5m`);
}

const SIZE = /^(\d+)(Ki|Mi|Gi)?$/;
const FACTORS: Record<string, number> = { "": 1, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

function size(text: string, action: string): number {
  const [, number, unit = ""] = SIZE.exec(text) ?? [];
  if (number !== undefined && Number(number) > 0) return Number(number) * (FACTORS[unit] ?? 1);
  throw new RangeError(`Cannot ${action} "${text}": it is not a size such as 65536, 64Ki or 1Gi`);
}

function oneOf<T extends string>(text: string, choices: readonly T[], action: string): T {
  const choice = choices.find((choice) => choice === text);
  if (choice !== undefined) return choice;
  throw new RangeError(`Cannot ${action} "${text}": use ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`);
}
