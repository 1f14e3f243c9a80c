/** A sandbox for OpenAI Agents JS: a `SandboxAgent` runs commands and edits files in a sandbox of hookbox. @module */
import { applyDiff, type Editor, type ToolOutputImage, UserError } from "@openai/agents";
import {
  type Entry,
  type ExecCommandArgs,
  type ExposedPortEndpoint,
  Manifest,
  type ManifestInput,
  type SandboxClient as AgentsClient,
  type SandboxClientCreateArgs,
  type SandboxDirectoryEntry,
  type SandboxExecResult,
  type SandboxSession,
  type SandboxSessionState,
} from "@openai/agents/sandbox";
import { type CreateOptions, FileNotFoundError, type Sandbox, SandboxClient } from "hookbox";

/** Where sandboxes come from, as for `create` of the SDK, and limits of commands. */
export interface HookboxOptions extends Omit<CreateOptions, "signal"> {
  /** @default the client that the environment describes */
  client?: SandboxClient;
  /** Kills a command after this many milliseconds. @default 600000 */
  commandTimeoutMs?: number;
}

/** Characters of output that a model gets for each token that it asks for. */
const CHARACTERS_PER_TOKEN = 4;
const IMAGES: Record<string, string> = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  png: "image/png",
  svg: "image/svg+xml",
  webp: "image/webp",
};

const as = (runAs: string | undefined): { user?: string } => runAs === undefined ? {} : { user: runAs };

/** A session in a sandbox that exists. Paths of the manifest's root are the working directory of the sandbox. */
export class HookboxSession implements SandboxSession {
  readonly state: SandboxSessionState;
  readonly sandbox: Sandbox;
  readonly #commandTimeoutMs: number;

  constructor(sandbox: Sandbox, options: { manifest?: Manifest; commandTimeoutMs?: number } = {}) {
    this.sandbox = sandbox;
    this.#commandTimeoutMs = options.commandTimeoutMs ?? 600_000;
    this.state = { manifest: options.manifest ?? new Manifest(), workspaceReady: true, sandboxName: sandbox.name };
  }

  #path(path: string): string {
    const { root } = this.state.manifest;
    if (path === root) return ".";
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  }

  async exec(args: ExecCommandArgs): Promise<SandboxExecResult> {
    const { cmd, workdir, shell = "/bin/sh", login = false, maxOutputTokens, runAs } = args;
    const startedAt = Date.now();
    const { stdout, stderr, exitCode } = await this.sandbox.commands.run([shell, login ? "-lc" : "-c", cmd], {
      timeoutMs: this.#commandTimeoutMs,
      env: { ...this.state.environment },
      ...workdir !== undefined && { cwd: this.#path(workdir) },
      ...as(runAs),
    });
    const output = shortened(stdout + stderr, maxOutputTokens);
    return { output, stdout, stderr, exitCode, wallTimeSeconds: (Date.now() - startedAt) / 1000 };
  }

  async execCommand(args: ExecCommandArgs): Promise<string> {
    const { output, exitCode, wallTimeSeconds } = await this.exec(args);
    return `Wall time: ${wallTimeSeconds} seconds\nProcess exited with code ${exitCode}\nOutput:\n${output}`;
  }

  createEditor(runAs?: string): Editor {
    const { files } = this.sandbox;
    return {
      createFile: async ({ path, diff }) => {
        const target = this.#path(path);
        if (await files.exists(target, as(runAs))) throw new UserError(`Cannot create ${path}: it exists already`);
        await files.write(target, applyDiff("", diff, "create"), as(runAs));
      },
      updateFile: async ({ path, diff, moveTo }) => {
        const [from, to] = [this.#path(path), this.#path(moveTo ?? path)];
        await files.write(to, applyDiff(await files.read(from, as(runAs)), diff), as(runAs));
        if (from !== to) await files.remove(from, as(runAs));
      },
      deleteFile: async ({ path }) => await files.remove(this.#path(path), as(runAs)),
    };
  }

  async viewImage({ path, runAs }: { path: string; runAs?: string }): Promise<ToolOutputImage> {
    const mediaType = IMAGES[path.split(".").at(-1)?.toLowerCase() ?? ""];
    if (mediaType === undefined) throw new UserError(`Cannot view ${path}: it is not an image`);
    const data = await this.sandbox.files.read(this.#path(path), { format: "bytes", ...as(runAs) });
    return { type: "image", image: { data, mediaType } };
  }

  async readFile({ path, runAs, maxBytes }: { path: string; runAs?: string; maxBytes?: number }): Promise<Uint8Array> {
    const length = maxBytes === undefined ? {} : { length: maxBytes };
    return await this.sandbox.files.read(this.#path(path), { format: "bytes", ...length, ...as(runAs) });
  }

  async listDir({ path, runAs }: { path: string; runAs?: string }): Promise<SandboxDirectoryEntry[]> {
    const entries = await this.sandbox.files.list(this.#path(path), as(runAs));
    const types = { directory: "dir", file: "file", symlink: "other", other: "other" } as const;
    return entries.map(({ name, type }) => ({ name, path: `${path.replace(/\/$/, "")}/${name}`, type: types[type] }));
  }

  async pathExists(path: string, runAs?: string): Promise<boolean> {
    return await this.sandbox.files.exists(this.#path(path), as(runAs));
  }

  async directoryExists(path: string, runAs?: string): Promise<boolean> {
    try {
      return (await this.sandbox.files.stat(this.#path(path), as(runAs))).type === "directory";
    } catch (error) {
      if (error instanceof FileNotFoundError) return false;
      throw error;
    }
  }

  async materializeEntry({ path, entry, runAs }: { path: string; entry: Entry; runAs?: string }): Promise<void> {
    const { files } = this.sandbox;
    const target = this.#path(path);
    switch (entry.type) {
      case "file":
        return await files.write(target, entry.content, as(runAs));
      case "dir":
        await files.makeDir(target, as(runAs));
        for (const [name, child] of Object.entries(entry.children ?? {})) {
          await this.materializeEntry({ path: `${path}/${name}`, entry: child, ...runAs !== undefined && { runAs } });
        }
        return;
      case "local_file":
      case "local_dir":
        return void await files.upload(entry.src, target, as(runAs));
      default:
        throw new UserError(`Cannot add ${path}: a sandbox of hookbox has no entries of type ${entry.type}`);
    }
  }

  async resolveExposedPort(port: number): Promise<ExposedPortEndpoint> {
    const url = new URL(await this.sandbox.getUrl(port));
    const tls = url.protocol === "https:";
    return { host: url.hostname, port: Number(url.port || (tls ? 443 : 80)), tls, url: url.href };
  }

  /** Deletes the sandbox. Agents call it only for sandboxes that they have created. */
  async close(): Promise<void> {
    await this.sandbox.kill();
  }
}

function shortened(text: string, maxTokens: number | undefined): string {
  const missing = text.length - (maxTokens ?? Infinity) * CHARACTERS_PER_TOKEN;
  if (!(missing > 0)) return text;
  const half = (text.length - missing) / 2;
  return `${text.slice(0, half)}\n[${missing} characters are left out]\n${text.slice(text.length - half)}`;
}

/**
 * Creates a sandbox for each run of an agent, and deletes it after the run.
 *
 * ```ts
 * const agent = new SandboxAgent({ name: "coder", model: "gpt-5.6" });
 * await run(agent, "Run the tests.", { sandbox: { client: new HookboxClient({ pool: "python" }) } });
 * ```
 */
export class HookboxClient implements AgentsClient {
  readonly backendId: string = "hookbox";
  readonly #options: HookboxOptions;

  constructor(options: HookboxOptions) {
    this.#options = options;
  }

  async create(args: SandboxClientCreateArgs | Manifest = {}): Promise<HookboxSession> {
    const { client = new SandboxClient(), commandTimeoutMs, ...options } = this.#options;
    const manifest = args instanceof Manifest ? args : manifestOf(args.manifest);
    const sandbox = await client.create(options);
    const limits = commandTimeoutMs === undefined ? {} : { commandTimeoutMs };
    const session = new HookboxSession(sandbox, { manifest, ...limits });
    try {
      session.state.environment = await manifest.resolveEnvironment();
      for (const [path, entry] of Object.entries(manifest.validatedEntries())) {
        await session.materializeEntry({ path, entry });
      }
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }
}

function manifestOf(input: ManifestInput | undefined): Manifest {
  return input instanceof Manifest ? input : new Manifest(input);
}
