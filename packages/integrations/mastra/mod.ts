/** A sandbox for Mastra workspaces: agents run commands and processes in a sandbox of hookbox. @module */
import {
  type CommandResult,
  MastraSandbox,
  type MastraSandboxOptions,
  ProcessHandle,
  type ProcessInfo,
  type ProviderStatus,
  type SandboxFileInput,
  type SandboxInfo,
  SandboxProcessManager,
  type SandboxStartResult,
  type SpawnProcessOptions,
} from "@mastra/core/workspace";
import {
  type CommandHandle,
  type CreateOptions,
  type Sandbox,
  SandboxClient,
  SandboxNotFoundError,
  TimeoutError,
} from "hookbox";

/** Where the sandbox comes from, as for `create` of the SDK, and Mastra's own options. */
export interface HookboxSandboxOptions
  extends Omit<CreateOptions, "name" | "env" | "signal">, Omit<MastraSandboxOptions, "processes"> {
  /** Name of the sandbox. If a sandbox of that name exists, it is used. @default a new sandbox */
  id?: string;
  /** @default the client that the environment describes */
  client?: SandboxClient;
}

/** A command that runs in the sandbox. */
class HookboxProcess extends ProcessHandle {
  readonly pid: string;
  exitCode: number | undefined;
  readonly #handle: CommandHandle;
  readonly #ended: Promise<CommandResult>;

  constructor(handle: CommandHandle, options: SpawnProcessOptions) {
    super(options);
    this.pid = String(handle.processId);
    this.#handle = handle;
    this.#ended = this.#collect(Date.now());
    this.#ended.catch(() => {});
  }

  async #collect(startedAt: number): Promise<CommandResult> {
    let timedOut = false;
    try {
      for await (const { stream, text } of this.#handle) {
        if (stream === "stdout") this.emitStdout(text);
        else this.emitStderr(text);
      }
      this.exitCode = (await this.#handle.wait()).exitCode;
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      timedOut = true;
      this.exitCode = 124;
    }
    const { stdout, stderr, exitCode } = this;
    const executionTimeMs = Date.now() - startedAt;
    return { success: exitCode === 0, exitCode, stdout, stderr, executionTimeMs, timedOut, killed: exitCode === -1 };
  }

  override async wait(): Promise<CommandResult> {
    return await this.#ended;
  }

  override async kill(): Promise<boolean> {
    return await this.#handle.kill();
  }

  override async sendStdin(data: string): Promise<void> {
    await this.#handle.write(data);
  }

  override async closeStdin(): Promise<void> {
    await this.#handle.closeStdin();
  }
}

class HookboxProcesses extends SandboxProcessManager<HookboxSandbox> {
  override async spawn(command: string, options: SpawnProcessOptions = {}): Promise<ProcessHandle> {
    const { timeout, env = {}, cwd = this.sandbox.workingDirectory, stdinMode = "pipe" } = options;
    const variables = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const handle = await this.sandbox.instance.commands.run(command, {
      background: true,
      env: Object.fromEntries(variables),
      ...cwd !== undefined && { cwd },
      ...timeout !== undefined && { timeoutMs: timeout },
      ...stdinMode === "pipe" && { stdin: true },
    });
    const started = new HookboxProcess(handle, options);
    this._tracked.set(started.pid, started);
    return started;
  }

  override list(): Promise<ProcessInfo[]> {
    return Promise.resolve([...this._tracked.values()].map(({ pid, command, exitCode }) => {
      const running = exitCode === undefined;
      return { pid, running, ...command !== undefined && { command }, ...!running && { exitCode } };
    }));
  }
}

/**
 * The sandbox. It is created at the first command, suspended by `stop`, and deleted by `destroy`.
 *
 * ```ts
 * const workspace = new Workspace({ sandbox: new HookboxSandbox({ pool: "python" }) });
 * ```
 */
export class HookboxSandbox extends MastraSandbox {
  readonly id: string;
  readonly name: string = "hookbox";
  readonly provider: string = "hookbox";
  status: ProviderStatus = "pending";
  /** URLs of ports, as `sandbox.getUrl` of the SDK returns them. */
  override readonly networking: { getPortUrl(port: number): Promise<string | null> } = {
    getPortUrl: async (port) => await this.#sandbox?.getUrl(port) ?? null,
  };
  readonly #client: SandboxClient;
  readonly #create: CreateOptions;
  #sandbox: Sandbox | undefined;

  constructor(options: HookboxSandboxOptions) {
    const { id, client, onStart, onStop, onDestroy, env, workingDirectory, ...create } = options;
    super({
      name: "hookbox",
      processes: new HookboxProcesses(),
      ...onStart && { onStart },
      ...onStop && { onStop },
      ...onDestroy && { onDestroy },
      ...env && { env },
      ...workingDirectory !== undefined && { workingDirectory },
    });
    this.id = id ?? `mastra-${crypto.randomUUID().slice(0, 8)}`;
    this.#client = client ?? new SandboxClient();
    this.#create = create;
  }

  /** The sandbox of the SDK, with all its methods. @throws {Error} if it has not been started */
  get instance(): Sandbox {
    if (!this.#sandbox) throw new Error(`Cannot use sandbox ${this.id}: it has not been started`);
    return this.#sandbox;
  }

  override async start(): Promise<SandboxStartResult> {
    try {
      this.#sandbox = await this.#client.connect(this.id);
      return { outcome: "connected" };
    } catch (error) {
      if (!(error instanceof SandboxNotFoundError)) throw error;
      this.#sandbox = await this.#client.create({ ...this.#create, name: this.id });
      return { outcome: "created" };
    }
  }

  override async stop(): Promise<void> {
    await this.#sandbox?.suspend();
  }

  override async destroy(): Promise<void> {
    await this.#client.kill(this.id);
    this.#sandbox = undefined;
  }

  override async writeFiles(files: SandboxFileInput[]): Promise<void> {
    await this.ensureRunning();
    for (const { path, content, mode } of files) {
      const data = typeof content === "string" ? content : new Uint8Array(content);
      await this.instance.files.write(path, data, { ...mode !== undefined && { mode } });
    }
  }

  override async getInfo(): Promise<SandboxInfo> {
    const { id, name, provider, status } = this;
    const info = await this.#sandbox?.getInfo();
    const { createdAt = new Date(), expiresAt } = info ?? {};
    return { id, name, provider, status, createdAt, ...expiresAt && { timeoutAt: expiresAt } };
  }

  override getInstructions(): string {
    return "A Linux sandbox on Kubernetes. Commands run with `sh -c`, in its working directory unless `cwd` is set.";
  }
}
