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
 * In a browser: `connect` by a `routerUrl` of the page's own origin, with the name of a Sandbox; then everything inside it
 * but `upload` and `download`. A stream as a file's content needs HTTP/2 there.
 *
 * @module hookbox
 */
import { type NameOptions, SandboxClient, type SandboxList } from "./client.ts";
import type { Finding } from "../api/diagnosis/finding.ts";
import type { CreateOptions, ListOptions, SandboxInfo, WaitOptions } from "./options.ts";
import { SandboxHandle } from "./sandbox.ts";

let shared: SandboxClient | undefined;

/** The client that the environment describes. */
function client(): SandboxClient {
  return shared ??= new SandboxClient();
}

/**
 * A sandbox, and the calls that make or find one in the cluster that the environment describes: see
 * {@link ClientOptions} for its variables, and {@link SandboxClient} for other clusters.
 */
export class Sandbox extends SandboxHandle {
  /** Every handle is a Sandbox, whichever client has made it. @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof SandboxHandle;
  }

  /** Makes a sandbox and waits until it is Ready: {@link SandboxClient.create}. */
  static async create(options: CreateOptions): Promise<Sandbox> {
    return await client().create(options);
  }

  /** Opens the sandbox of a name, and wakes it where it is suspended: {@link SandboxClient.connect}. */
  static async connect(name: string, options?: NameOptions & WaitOptions): Promise<Sandbox> {
    return await client().connect(name, options);
  }

  /** Opens the sandbox of a name, and makes it if there is none: {@link SandboxClient.getOrCreate}. */
  static async getOrCreate(name: string, options: CreateOptions): Promise<Sandbox> {
    return await client().getOrCreate(name, options);
  }

  /** Lists sandboxes: {@link SandboxClient.list}. */
  static list(options?: ListOptions): SandboxList {
    return client().list(options);
  }

  /** Deletes a sandbox with all it has; false if there is none. */
  static async kill(name: string, options?: NameOptions): Promise<boolean> {
    return await client().kill(name, options);
  }

  /** Ends a sandbox's Pod and keeps the rest. */
  static async suspend(name: string, options?: NameOptions): Promise<void> {
    await client().suspend(name, options);
  }

  /** Gives a sandbox a Pod again. */
  static async resume(name: string, options?: NameOptions & WaitOptions): Promise<void> {
    await client().resume(name, options);
  }

  /** Gives a sandbox another Pod, made from its spec as that is now. */
  static async restart(name: string, options?: NameOptions & WaitOptions): Promise<void> {
    await client().restart(name, options);
  }

  /** Lets a sandbox live so many milliseconds from now; null: for ever. */
  static async setTimeout(name: string, ms: number | null, options?: NameOptions): Promise<Date | undefined> {
    return await client().setTimeout(name, ms, options);
  }

  /** Adds to the time that a sandbox has left. */
  static async extendTimeout(name: string, ms: number, options?: NameOptions): Promise<Date> {
    return await client().extendTimeout(name, ms, options);
  }

  /** Reads how a sandbox is. */
  static async getInfo(name: string, options?: NameOptions): Promise<SandboxInfo> {
    return await client().getInfo(name, options);
  }

  /** Finds out why a sandbox is as it is. */
  static async why(name: string, options?: NameOptions): Promise<Finding> {
    return await client().why(name, options);
  }
}

export { SandboxClient } from "./client.ts";
export type { NameOptions, SandboxList } from "./client.ts";
export type { SandboxPage } from "./control/list.ts";
export type { SandboxHandle, URLOptions } from "./sandbox.ts";
export type { ClientOptions } from "./setup/options.ts";
export type { PodPlace, PodWay } from "./transport/direct.ts";
export type { TransportRequest } from "./transport/transport.ts";
export type { CreateOptions, ListOptions, Progress, SandboxInfo, VolumeOptions, WaitOptions } from "./options.ts";
export type {
  CommandHandle,
  CommandInfo,
  CommandOptions,
  CommandOutput,
  CommandResult,
  Commands,
  RunOptions,
} from "./commands/types.ts";
export { CommandExitError } from "./commands/request.ts";
export type { PTY, PTYOptions, Terminal, TerminalSize } from "./pty/pty.ts";
export type { FSEncoding, FSWatchEvent, SandboxFS } from "./files/fs.ts";
export type { FSCode, FSError } from "./files/fserrors.ts";
export type { FSDirent, FSKind, FSStats } from "./files/fsstats.ts";
export type { Files } from "./files/files.ts";
export type { Disk, Entry } from "./files/entry.ts";
export type { Bytes, ReadOptions } from "./files/read.ts";
export type { TransferOptions, TransferProgress, Transferred } from "./files/transfer.ts";
export type { FileEvent, WatchDirOptions, WatchHandle, WatchOptions } from "./files/watch.ts";
export type { FileData, FileToWrite, WriteOptions } from "./files/write.ts";
export type { Code } from "./code/code.ts";
export type { CodeContext, CodeLanguage, CreateCodeContextOptions } from "./code/contexts.ts";
export type { Execution, ExecutionError, Result, ResultForm } from "./code/execution.ts";
export type { CodeCallback, RunCodeOptions } from "./code/run.ts";
export type { EnvOptions } from "./env.ts";
export type { CallOptions } from "./runtime/call.ts";
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
  RateLimitError,
  SandboxError,
  SandboxFailedError,
  SandboxNotFoundError,
  TemplateError,
  TimeoutError,
  UnsupportedError,
} from "./errors.ts";
