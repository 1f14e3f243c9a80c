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
import { type NameOptions, SandboxClient, type SandboxList } from "./client.ts";
import type { Finding } from "../api/diagnosis/finding.ts";
import type { CreateOptions, ListOptions, SandboxInfo, WaitOptions } from "./options.ts";
import { SandboxHandle } from "./sandbox.ts";

let shared: SandboxClient | undefined;

/** Returns the client that the environment variables describe. It is created at the first call. */
function client(): SandboxClient {
  return shared ??= new SandboxClient();
}

/**
 * A sandbox, and static methods that create or find sandboxes in the cluster that the environment describes.
 * {@link ClientOptions} lists the environment variables. To use another cluster, create a {@link SandboxClient}.
 */
export class Sandbox extends SandboxHandle {
  /** Every handle is an instance of Sandbox, whichever client created it. @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof SandboxHandle;
  }

  /** Creates a sandbox and waits until it is Ready. See {@link SandboxClient.create}. */
  static async create(options: CreateOptions): Promise<Sandbox> {
    return await client().create(options);
  }

  /** Opens an existing sandbox by name, and resumes it if it is suspended. See {@link SandboxClient.connect}. */
  static async connect(name: string, options?: NameOptions & WaitOptions): Promise<Sandbox> {
    return await client().connect(name, options);
  }

  /** Opens a sandbox by name, or creates it if it does not exist. See {@link SandboxClient.getOrCreate}. */
  static async getOrCreate(name: string, options: CreateOptions): Promise<Sandbox> {
    return await client().getOrCreate(name, options);
  }

  /** Lists sandboxes. See {@link SandboxClient.list}. */
  static list(options?: ListOptions): SandboxList {
    return client().list(options);
  }

  /** Deletes a sandbox with its Pod and volumes. Returns false if there is no such sandbox. */
  static async kill(name: string, options?: NameOptions): Promise<boolean> {
    return await client().kill(name, options);
  }

  /** Suspends a sandbox: deletes its Pod, and keeps its name, volumes and Service. */
  static async suspend(name: string, options?: NameOptions): Promise<void> {
    await client().suspend(name, options);
  }

  /** Resumes a suspended sandbox: creates a new Pod for it, and waits until it is Ready. */
  static async resume(name: string, options?: NameOptions & WaitOptions): Promise<void> {
    await client().resume(name, options);
  }

  /** Restarts a sandbox: replaces its Pod by a new one, created from the current spec. */
  static async restart(name: string, options?: NameOptions & WaitOptions): Promise<void> {
    await client().restart(name, options);
  }

  /** Sets the time until a sandbox is deleted, in milliseconds from now. With null, it is never deleted. */
  static async setTimeout(name: string, ms: number | null, options?: NameOptions): Promise<Date | undefined> {
    return await client().setTimeout(name, ms, options);
  }

  /** Extends the time until a sandbox is deleted, by this many milliseconds. */
  static async extendTimeout(name: string, ms: number, options?: NameOptions): Promise<Date> {
    return await client().extendTimeout(name, ms, options);
  }

  /** Reads the current state of a sandbox. */
  static async getInfo(name: string, options?: NameOptions): Promise<SandboxInfo> {
    return await client().getInfo(name, options);
  }

  /** Finds out why a sandbox is in its current state. */
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
