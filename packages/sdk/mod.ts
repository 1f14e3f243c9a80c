/// <reference lib="esnext.disposable" preserve="true" />
/**
 * hookbox: sandboxes for AI agents on Kubernetes, from TypeScript.
 *
 * ```ts
 * import { Sandbox } from "hookbox";
 *
 * await using sandbox = await Sandbox.create({ pool: "python" });
 * const { stdout } = await sandbox.commands.run("python3 --version");
 * ```
 *
 * In a browser, call `connect` with the name of a Sandbox, and set `routerUrl` to the page's own origin. All methods of
 * the sandbox then work, except `upload` and `download`. To write a file from a stream, a browser needs HTTP/2.
 *
 * @module hookbox
 */
import "./setup/oldruntime.ts";
import { type NameOptions, SandboxClient, type SandboxList } from "./client.ts";
import type { CreateOptions, ListOptions, WaitOptions } from "./options.ts";
import type { SandboxHandle } from "./sandbox.ts";

let shared: SandboxClient | undefined;

/** Returns the client that the environment variables describe. It is created at the first call. */
function client(): SandboxClient {
  return shared ??= new SandboxClient();
}

/** A sandbox, as `Sandbox.create` and the methods of {@link SandboxClient} return it. */
export type Sandbox = SandboxHandle;

/**
 * Creates and finds sandboxes in the cluster that the environment describes. {@link ClientOptions} lists the
 * environment variables. To use another cluster, create a {@link SandboxClient}, which also has methods to suspend,
 * resume and change sandboxes by name.
 */
export const Sandbox = {
  /** Creates a sandbox and waits until it is Ready. See {@link SandboxClient.create}. */
  async create(options: CreateOptions): Promise<Sandbox> {
    return await client().create(options);
  },

  /** Opens an existing sandbox by name, and resumes it if it is suspended. See {@link SandboxClient.connect}. */
  async connect(name: string, options?: NameOptions & WaitOptions): Promise<Sandbox> {
    return await client().connect(name, options);
  },

  /** Opens a sandbox by name, or creates it if it does not exist. See {@link SandboxClient.getOrCreate}. */
  async getOrCreate(name: string, options: CreateOptions): Promise<Sandbox> {
    return await client().getOrCreate(name, options);
  },

  /** Lists sandboxes. See {@link SandboxClient.list}. */
  list(options?: ListOptions): SandboxList {
    return client().list(options);
  },

  /** Deletes a sandbox with its Pod and volumes. Returns false if there is no such sandbox. */
  async kill(name: string, options?: NameOptions): Promise<boolean> {
    return await client().kill(name, options);
  },
};

export { SandboxClient } from "./client.ts";
export type { NameOptions, SandboxList } from "./client.ts";
export type { BindOptions, Bound, BoundFile } from "./bind.ts";
export type { SandboxHandle, URLOptions } from "./sandbox.ts";
export type { ClientOptions } from "./setup/clientoptions.ts";
export type { PodPlace, PodWay } from "./transport/direct.ts";
export type { TransportRequest } from "./transport/transport.ts";
export type {
  CreateOptions,
  ListOptions,
  NetworkOptions,
  Progress,
  ResourceOptions,
  SandboxInfo,
  SandboxPage,
  VolumeOptions,
  WaitOptions,
} from "./options.ts";
export type {
  CommandHandle,
  CommandInfo,
  CommandOptions,
  CommandOutput,
  CommandResult,
  Commands,
  JobInfo,
  RunOptions,
} from "./commands/commands.ts";
export { CommandExitError } from "./commands/output.ts";
export type { PTY, PTYConnectOptions, PTYOptions, Terminal, TerminalSize } from "./pty.ts";
export type { FSEncoding, FSWatchEvent, SandboxFS } from "./files/fs.ts";
export type { FSCode, FSError } from "./files/fserrors.ts";
export type { FSDirent, FSKind, FSStats } from "./files/fs.ts";
export type { Files } from "./files/files.ts";
export type { Disk, Entry } from "./files/entry.ts";
export type { Bytes, ReadOptions } from "./files/read.ts";
export type { TransferOptions, TransferProgress, Transferred } from "./files/transfer.ts";
export type { FileEvent, WatchDirOptions, WatchHandle, WatchOptions } from "./files/watch.ts";
export type { FileData, FileToWrite, WriteOptions } from "./files/write.ts";
export type { Code } from "./code/code.ts";
export type { CodeContext, CodeLanguage, CreateCodeContextOptions } from "./code/code.ts";
export type { Execution, ExecutionError, JSONValue, Result, ResultForm } from "./code/execution.ts";
export type { CodeCallback, RunCodeOptions } from "./code/run.ts";
export type { EnvOptions } from "./options.ts";
export type { CallOptions, UserOptions } from "./runtime/call.ts";
export type { Answer, Api, ApiRequest } from "../kube/api.ts";
export type { Evidence, Finding } from "../api/diagnosis/finding.ts";
export {
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  type ErrorDetails,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  type ObjectRef,
  QuotaExceededError,
  RateLimitError,
  SandboxError,
  SandboxFailedError,
  SandboxNotFoundError,
  TemplateError,
  TimeoutError,
  UnsupportedError,
} from "./errors.ts";
