/** The handle of one sandbox, and the calls that make or find one. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { Finding } from "../api/diagnosis/finding.ts";
import { type Code, createCode } from "./code/code.ts";
import { createCommands } from "./commands/commands.ts";
import type { Commands } from "./commands/types.ts";
import { extendTimeoutOf, remove, setMode, setTimeoutOf, untilNotReady, untilSuspended } from "./control/change.ts";
import { readIfAny, readSandbox } from "./control/find.ts";
import { type Ready, untilReady } from "./control/ready.ts";
import { type ClaimOrSandbox, infoOf } from "./control/readiness.ts";
import { refOf, type Target, wordsFor } from "./control/target.ts";
import { InvalidArgumentError, SandboxNotFoundError } from "./errors.ts";
import { createFiles, type Files } from "./files/files.ts";
import { createFS, type SandboxFS } from "./files/fs.ts";
import type { CallOptions } from "./runtime/call.ts";
import { createRuntimeClient } from "./runtime/runtimeclient.ts";
import type { SandboxInfo, WaitOptions } from "./options.ts";
import { createPTY, type PTY } from "./pty/pty.ts";
import { traceTransport } from "./tracing.ts";
import type { SandboxTransport } from "./transport/transport.ts";
import type { ClientContext } from "./setup/clientcontext.ts";
import { signAddress } from "./setup/signing.ts";

/** What a handle is made of. @internal */
export interface HandleParts {
  context: ClientContext;
  target: Target;
  /** Of the object when it was created or found; undefined: whichever has the name. */
  uid: string | undefined;
  sandboxName: string;
  transport: SandboxTransport;
}

/** Which address of a port. */
export interface URLOptions extends CallOptions {
  /**
   * For how many milliseconds everybody who has the address may connect, by a token in its query. Needs a router, and the
   * router's secret or a key that the router knows. @default never
   */
  signedForMs?: number | undefined;
}

/**
 * One sandbox that is there.
 *
 * Requests to what runs inside wake it where it is suspended. With `await using` it is deleted at the end of the block.
 */
export class SandboxHandle implements AsyncDisposable {
  /** The name that `connect` and the other calls take: that of the claim, or of a Sandbox of its own. */
  readonly name: string;
  readonly namespace: string;
  /** Name of the Sandbox, which a pool has given its own. */
  readonly sandboxName: string;
  /** Runs commands. */
  readonly commands: Commands;
  /** Its files. */
  readonly files: Files;
  /** The same files, by the names and in the shapes of `node:fs/promises`. */
  readonly fs: SandboxFS;
  /** Terminals. */
  readonly pty: PTY;
  /** Runs Python and JavaScript whose state is kept between calls. */
  readonly runCode: Code["runCode"];
  /** Makes a context of its own for `runCode`. */
  readonly createCodeContext: Code["createCodeContext"];
  /** `runCode` and all that there is to its contexts. */
  readonly code: Code;
  readonly #parts: HandleParts;

  /** @internal */
  constructor(parts: HandleParts) {
    const { target, sandboxName, transport, context } = parts;
    this.#parts = parts;
    this.name = target.name;
    this.namespace = target.namespace;
    this.sandboxName = sandboxName;
    const object = { kind: "Sandbox", namespace: target.namespace, name: sandboxName };
    const runtimeClient = createRuntimeClient(traceTransport(transport, object), object, context.options.runtimeToken);
    this.commands = createCommands(runtimeClient);
    this.files = createFiles(runtimeClient);
    this.fs = createFS(this.files, object);
    this.pty = createPTY(runtimeClient);
    this.code = createCode(runtimeClient);
    this.runCode = this.code.runCode;
    this.createCodeContext = this.code.createCodeContext;
  }

  /** Reads how it is. @throws {@link SandboxNotFoundError} if it is gone */
  async getInfo({ signal }: CallOptions = {}): Promise<SandboxInfo> {
    const { context, target } = this.#parts;
    const claimOrSandbox = await readIfAny<ClaimOrSandbox>(await context.api(), target, signal);
    if (claimOrSandbox) return infoOf(claimOrSandbox);
    throw new SandboxNotFoundError(`Cannot read ${wordsFor(target)}: it does not exist`, { object: refOf(target) });
  }

  /** Finds out why it is as it is: the root cause, the evidence, and what to do. */
  async why({ signal }: CallOptions = {}): Promise<Finding> {
    const { context, target } = this.#parts;
    return await context.why(target, signal);
  }

  /** Deletes it with all it has; false if it was gone. Waits for no Pod to end. */
  async kill({ signal }: CallOptions = {}): Promise<boolean> {
    const { context, target, uid, transport } = this.#parts;
    await transport.close();
    return await remove(await context.api(), target, uid, signal);
  }

  /**
   * Ends its Pod and keeps the rest: name, volumes, addresses of its Service. Resolves when the Pod is gone, and whoever
   * asks how it is hears so.
   */
  async suspend({ signal = new AbortController().signal }: CallOptions = {}): Promise<void> {
    const { context, target } = this.#parts;
    const api = await context.api();
    await untilSuspended(api, this.#own, await setMode(api, this.#own, "Suspended", signal), signal);
    if (target.kind === "SandboxClaim") await untilNotReady(api, target, signal);
  }

  /** Gives it a Pod again; resolves when it is Ready. */
  async resume(options: WaitOptions = {}): Promise<void> {
    const { context, target } = this.#parts;
    const api = await context.api();
    await untilAwake(context, target, await setMode(api, this.#own, "Running", options.signal), options);
  }

  /**
   * Ends its Pod and gives it another, made from its spec as that is now; name, volumes and addresses of its Service
   * stay. Resolves when it is Ready. Given up half way, it is resumed all the same.
   */
  async restart(options: WaitOptions = {}): Promise<void> {
    try {
      await this.suspend(options);
    } catch (error) {
      await setMode(await this.#parts.context.api(), this.#own, "Running").catch(() => {});
      throw error;
    }
    await this.resume(options);
  }

  /** Lets it live so many milliseconds from now, and be deleted then; null: for ever. Returns when it will end. */
  async setTimeout(ms: number | null, { signal }: CallOptions = {}): Promise<Date | undefined> {
    const { context, target } = this.#parts;
    return await setTimeoutOf(await context.api(), target, ms, new Date(), signal);
  }

  /** Adds to the time it has left. Returns when it will end. @throws {@link InvalidArgumentError} if it has no end */
  async extendTimeout(ms: number, { signal }: CallOptions = {}): Promise<Date> {
    const { context, target } = this.#parts;
    return await extendTimeoutOf(await context.api(), target, ms, signal);
  }

  /** Returns `host:port` at which programs on this machine reach a port of it. */
  async getHost(port: number, options?: CallOptions): Promise<string> {
    const { host, port: number, protocol } = await this.#address(port, options);
    return number ? host : `${host}:${protocol === "https:" ? 443 : 80}`;
  }

  /**
   * Returns the address of a port of it, without a slash at the end. Connects to nothing: if no program listens there, your
   * own request fails, as of a server that is down.
   *
   * @throws {@link InvalidArgumentError} with `signedForMs`, where the way to the sandbox is no router
   */
  async getUrl(port: number, { signedForMs, signal }: URLOptions = {}): Promise<string> {
    const { context, transport } = this.#parts;
    const address = await this.#address(port, { signal });
    if (signedForMs === undefined) return address.href.replace(/\/$/, "");
    if (transport.kind !== "router") {
      throw new InvalidArgumentError("Cannot sign an address: only a router checks signatures", {
        remedy: "Give the client a `routerUrl`.",
      });
    }
    const what = { ns: this.namespace, name: this.sandboxName, port };
    address.searchParams.set("token", await signAddress(context, what, signedForMs, signal));
    return address.href;
  }

  /** Closes what it has opened on this machine; the sandbox goes on. */
  async disconnect(): Promise<void> {
    await this.#parts.transport.close();
  }

  /** Deletes it, as {@link SandboxHandle.kill} does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #address(port: number, options?: CallOptions): Promise<URL> {
    if (!Number.isInteger(port) || port < 1 || port > 65535) {
      throw new InvalidArgumentError(`Cannot make an address of port ${port}: it is not from 1 to 65535`);
    }
    return await this.#parts.transport.address(port, options);
  }

  /** The Sandbox itself: mode and Pod are its. */
  get #own(): Target {
    return { kind: "Sandbox", namespace: this.namespace, name: this.sandboxName };
  }
}

/**
 * Makes the handle of something that is Ready, or that requests will wake.
 *
 * @param place its Sandbox, and the addresses of its Pod a moment ago; none: nobody knows
 * @internal
 */
export async function openHandle(
  context: ClientContext,
  target: Target,
  { sandboxName, podIPs }: { sandboxName: string; podIPs: string[] },
  uid: string | undefined,
): Promise<SandboxHandle> {
  const transport = await context.transportTo(target.namespace, sandboxName, podIPs[0]);
  return new SandboxHandle({ context, target, uid, sandboxName, transport });
}

/** Wakes the Sandbox of a target that is there, and waits until it is Ready. @internal */
export async function wake(
  context: ClientContext,
  target: Target,
  claimOrSandbox: ClaimOrSandbox,
  options: WaitOptions,
): Promise<Ready> {
  const api = await context.api();
  const diagnose = context.why;
  const info = infoOf(claimOrSandbox);
  if (info.state !== "Suspended" || info.sandboxName === undefined) {
    return await untilReady(api, target, { ...options, diagnose, known: claimOrSandbox });
  }
  const own: Target = { kind: "Sandbox", namespace: target.namespace, name: info.sandboxName };
  const sandbox = await readSandbox(api, own.namespace, own.name, options.signal);
  const isAsleep = sandbox.spec.operatingMode === "Suspended";
  const known = isAsleep ? await setMode(api, own, "Running", options.signal) : sandbox;
  return await untilAwake(context, target, known, options);
}

/** Waits for the Sandbox, which knows first, and for the claim that has it, which is what others look at. */
async function untilAwake(
  context: ClientContext,
  target: Target,
  sandbox: Sandbox,
  options: WaitOptions,
): Promise<Ready> {
  const api = await context.api();
  const own: Target = { kind: "Sandbox", namespace: target.namespace, name: sandbox.metadata.name };
  const ready = await untilReady(api, own, { ...options, known: sandbox, diagnose: context.why });
  return target.kind === "Sandbox" ? ready : await untilReady(api, target, { ...options, diagnose: context.why });
}
