/** A provider for ComputeSDK: its sandboxes are hookbox's. @module */
import { defineProvider, type Provider, type RunCommandOptions } from "@computesdk/provider";
import { type CreateOptions, type Sandbox, SandboxClient, type SandboxInfo, SandboxNotFoundError } from "hookbox";

/** Where new sandboxes come from if a call names neither `templateId` nor `image`, and the cluster they are in. */
export interface HookboxConfig extends Pick<CreateOptions, "pool" | "template" | "image"> {
  /** @default the client that the environment describes */
  client?: SandboxClient;
}

interface Cluster extends HookboxConfig {
  client: SandboxClient;
}

const STATUSES: Record<SandboxInfo["state"], "running" | "stopped" | "error"> = {
  Ready: "running",
  Starting: "running",
  Suspended: "stopped",
  Terminating: "stopped",
  Failed: "error",
};

async function run(sandbox: Sandbox, command: string, options: RunCommandOptions = {}) {
  const { cwd, env, timeout, background, onStdout, onStderr } = options;
  const startedAt = Date.now();
  const common = { ...cwd !== undefined && { cwd }, ...timeout !== undefined && { timeoutMs: timeout }, env };
  const durationMs = () => Date.now() - startedAt;
  if (background) {
    await sandbox.commands.run(command, { ...common, background: true });
    return { stdout: "", stderr: "", exitCode: 0, durationMs: durationMs() };
  }
  const callbacks = { ...onStdout && { onStdout }, ...onStderr && { onStderr } };
  const { stdout, stderr, exitCode } = await sandbox.commands.run(command, { ...common, ...callbacks });
  return { stdout, stderr, exitCode, durationMs: durationMs() };
}

const provider: (cluster: Cluster) => Provider<Sandbox> = defineProvider<Sandbox, Cluster>({
  name: "hookbox",
  methods: {
    sandbox: {
      async create({ client, pool, template, image }, options = {}) {
        const { templateId, image: ownImage, name, timeout, envs, metadata = {}, signal } = options;
        const own: CreateOptions = { ...templateId && { template: templateId }, ...ownImage && { image: ownImage } };
        const usual: CreateOptions = { ...pool && { pool }, ...template && { template }, ...image && { image } };
        const sandbox = await client.create({
          ...Object.keys(own).length > 0 ? own : usual,
          ...name !== undefined && { name },
          ...timeout !== undefined && { timeoutMs: timeout },
          ...envs && Object.keys(envs).length > 0 && { env: envs },
          ...signal && { signal },
          metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, String(value)])),
        });
        return { sandbox, sandboxId: sandbox.name };
      },
      async getById({ client }, sandboxId) {
        try {
          return { sandbox: await client.connect(sandboxId), sandboxId };
        } catch (error) {
          if (error instanceof SandboxNotFoundError) return null;
          throw error;
        }
      },
      async list({ client }) {
        const all: { sandbox: Sandbox; sandboxId: string }[] = [];
        for await (const { name, state } of client.list()) {
          // To connect to a suspended sandbox would resume it.
          if (state === "Ready") all.push({ sandbox: await client.connect(name), sandboxId: name });
        }
        return all;
      },
      async destroy({ client }, sandboxId) {
        await client.kill(sandboxId);
      },
      runCommand: run,
      streamCommand: run,
      async getInfo(sandbox) {
        const { name, state, createdAt, expiresAt, metadata } = await sandbox.getInfo();
        const timeout = expiresAt === undefined ? 0 : expiresAt.getTime() - createdAt.getTime();
        return { id: name, provider: "hookbox", status: STATUSES[state], createdAt, timeout, metadata };
      },
      async getUrl(sandbox, { port, protocol }) {
        const url = await sandbox.getUrl(port);
        return protocol === undefined ? url : url.replace(/^[a-z]+:/, `${protocol}:`);
      },
      filesystem: {
        readFile: (sandbox, path) => sandbox.files.read(path),
        writeFile: (sandbox, path, content) => sandbox.files.write(path, content),
        async mkdir(sandbox, path) {
          await sandbox.files.makeDir(path);
        },
        async readdir(sandbox, path) {
          const entries = await sandbox.files.list(path);
          return entries.map(({ name, type, size, modifiedAt }) => {
            return { name, type: type === "directory" ? type : "file", size, modified: modifiedAt };
          });
        },
        exists: (sandbox, path) => sandbox.files.exists(path),
        remove: (sandbox, path) => sandbox.files.remove(path, { recursive: true }),
      },
    },
  },
});

/**
 * Makes the provider.
 *
 * ```ts
 * const sdk = compute({ provider: hookbox({ pool: "python" }) });
 * const sandbox = await sdk.sandbox.create();
 * ```
 */
export function hookbox(config: HookboxConfig = {}): Provider<Sandbox> {
  return provider({ ...config, client: config.client ?? new SandboxClient() });
}
