/** The handle of one sandbox, and functions that create handles and resume sandboxes. @module */
import type { Finding } from "../api/diagnosis/finding.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { timeAt } from "../kube/api.ts";
import { bind, type BindOptions, type Bound, unbind } from "./bind.ts";
import { type Code, createCode } from "./code/code.ts";
import { type Commands, createCommands } from "./commands/commands.ts";
import { extendTimeoutOf, remove, setMode, setTimeoutOf, untilNotReady, untilSuspended } from "./control/change.ts";
import { readIfAny, readSandbox, refOf, type Target, wordsFor } from "./control/find.ts";
import { type ClaimOrSandbox, infoOf } from "./control/readiness.ts";
import { type Ready, untilReady } from "./control/ready.ts";
import { InvalidArgumentError, SandboxNotFoundError } from "./errors.ts";
import { createFiles, type Files } from "./files/files.ts";
import { createFS, type SandboxFS } from "./files/fs.ts";
import type { SandboxInfo, WaitOptions } from "./options.ts";
import { createPTY, type PTY } from "./pty.ts";
import type { CallOptions } from "./runtime/call.ts";
import { createRuntimeClient, type RuntimeClient } from "./runtime/runtimeclient.ts";
import { type ClientContext, signAddress } from "./setup/clientcontext.ts";
import { traceTransport } from "./tracing.ts";
import type { SandboxTransport } from "./transport/transport.ts";

/** What a handle consists of. @internal */
export interface HandleParts {
  context: ClientContext;
  target: Target;
  /** UID of the claim or Sandbox when it was created or found. Undefined: any object of that name is meant. */
  uid: string | undefined;
  sandboxName: string;
  transport: SandboxTransport;
}

/** Options of `getUrl`. */
export interface URLOptions extends CallOptions {
  /**
   * Lets everybody who has the URL connect for this many milliseconds, by a token in its query. Requires a router, and
   * its secret or a key that it knows.
   *
   * @default no token
   */
  signedForMs?: number | undefined;
  /**
   * Port of this machine that is forwarded to the sandbox. Without a port-forward, it has no effect.
   *
   * @default a free one
   */
  localPort?: number | undefined;
}

/**
 * An existing sandbox. A request to a program inside it resumes the sandbox if it is suspended. With `await using`, the
 * sandbox is deleted at the end of the block.
 */
export class SandboxHandle implements AsyncDisposable {
  /** The name that `connect` and other calls accept: of the claim, or of the Sandbox if there is no claim. */
  readonly name: string;
  readonly namespace: string;
  /** Name of the Sandbox. It differs from `name` if the Sandbox comes from a pool. */
  readonly sandboxName: string;
  /** Runs commands. */
  readonly commands: Commands;
  /** Reads, writes, lists and watches files. */
  readonly files: Files;
  /** The same files, with the functions and types of `node:fs/promises`. */
  readonly fs: SandboxFS;
  /** Opens terminals. */
  readonly pty: PTY;
  /** Runs Python, JavaScript, TypeScript, bash, R or Java code. Variables are kept between calls. */
  readonly runCode: Code["runCode"];
  /** Creates a separate interpreter for `runCode`. */
  readonly createCodeContext: Code["createCodeContext"];
  /** `runCode`, and all functions for its contexts. */
  readonly code: Code;
  readonly #parts: HandleParts;
  readonly #runtime: RuntimeClient;

  /** @internal */
  constructor(parts: HandleParts) {
    const { target, sandboxName, transport, context } = parts;
    this.#parts = parts;
    this.name = target.name;
    this.namespace = target.namespace;
    this.sandboxName = sandboxName;
    const object = { kind: "Sandbox", namespace: target.namespace, name: sandboxName };
    const runtimeClient = createRuntimeClient(traceTransport(transport, object), object, context.options.runtimeToken);
    this.#runtime = runtimeClient;
    this.commands = createCommands(runtimeClient);
    this.files = createFiles(runtimeClient);
    this.fs = createFS(this.files, object);
    this.pty = createPTY(runtimeClient);
    this.code = createCode(runtimeClient);
    this.runCode = this.code.runCode;
    this.createCodeContext = this.code.createCodeContext;
  }

  /** Reads the current state of the sandbox. @throws {@link SandboxNotFoundError} if it does not exist any more */
  async getInfo({ signal }: CallOptions = {}): Promise<SandboxInfo> {
    const { context, target } = this.#parts;
    const claimOrSandbox = await readIfAny<ClaimOrSandbox>(await context.api(), target, signal);
    if (claimOrSandbox) return infoOf(claimOrSandbox);
    throw new SandboxNotFoundError(`Cannot read ${wordsFor(target)}: it does not exist`, { object: refOf(target) });
  }

  /** Finds out why the sandbox is in its current state: the root cause, the evidence, and what to do. */
  async why({ signal }: CallOptions = {}): Promise<Finding> {
    const { context, target } = this.#parts;
    return await context.why(target, signal);
  }

  /**
   * Gives the sandbox variables and files that are in no spec, such as keys, in addition to those it was given before.
   * Commands, code and terminals that start from now on get the variables. If the Pod is replaced, they are gone.
   *
   * @returns the names of everything that it was given
   * @throws {@link AuthenticationError} or {@link AuthorizationError} if the sandbox does not allow late binding
   */
  async bind(options: BindOptions): Promise<Bound> {
    return await bind(this.#runtime, options);
  }

  /** Removes everything that {@link SandboxHandle.bind} has given. Running processes keep their variables. */
  async unbind(options: CallOptions = {}): Promise<void> {
    await unbind(this.#runtime, options);
  }

  /** Deletes the sandbox with its Pod and volumes; does not wait for the Pod. Returns false if it was gone. */
  async kill({ signal }: CallOptions = {}): Promise<boolean> {
    const { context, target, uid, transport } = this.#parts;
    await transport.close();
    return await remove(await context.api(), target, uid, signal);
  }

  /**
   * Suspends the sandbox: deletes its Pod, keeps its name, volumes and the address of its Service. Resolves when the
   * Pod is gone and the status of the claim shows it.
   */
  async suspend({ signal = new AbortController().signal }: CallOptions = {}): Promise<void> {
    const { context, target } = this.#parts;
    const api = await context.api();
    await untilSuspended(api, this.#own, await setMode(api, this.#own, "Suspended", signal), signal);
    if (target.kind === "SandboxClaim") await untilNotReady(api, target, signal);
  }

  /** Resumes the sandbox: creates a new Pod for it. Resolves when the sandbox is Ready. */
  async resume(options: WaitOptions = {}): Promise<void> {
    const { context, target } = this.#parts;
    const api = await context.api();
    await untilResumed(context, target, await setMode(api, this.#own, "Running", options.signal), options);
  }

  /**
   * Restarts the sandbox: replaces its Pod by one with the current spec; name, volumes and the address of its Service
   * stay. Resolves when it is Ready. If the call is cancelled or fails halfway, the sandbox is still resumed.
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

  /** Sets the time until the sandbox is deleted, in milliseconds from now; null: never. Returns the end. */
  async setTimeout(ms: number | null, { signal }: CallOptions = {}): Promise<Date | undefined> {
    const { context, target } = this.#parts;
    const api = await context.api();
    return await setTimeoutOf(api, target, ms, new Date(timeAt(api)), signal);
  }

  /** Extends the time until it is deleted; returns the end. @throws {@link InvalidArgumentError} if it has none */
  async extendTimeout(ms: number, { signal }: CallOptions = {}): Promise<Date> {
    const { context, target } = this.#parts;
    return await extendTimeoutOf(await context.api(), target, ms, signal);
  }

  /** Returns `host:port` for a port of the sandbox, as programs on this machine reach it. */
  async getHost(port: number, options?: CallOptions): Promise<string> {
    const { host, port: number, protocol } = await this.#address(port, options);
    return number ? host : `${host}:${protocol === "https:" ? 443 : 80}`;
  }

  /**
   * Returns the URL of a port, without a slash at the end. Does not check whether a program listens on the port.
   *
   * @throws {@link InvalidArgumentError} if `signedForMs` is set and the client does not use a router
   */
  async getUrl(port: number, { signedForMs, localPort, signal }: URLOptions = {}): Promise<string> {
    const { context, transport } = this.#parts;
    const address = await this.#address(port, { signal, localPort });
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

  /** Closes the connections that this handle opened. The sandbox continues to run. */
  async disconnect(): Promise<void> {
    await this.#parts.transport.close();
  }

  /** Deletes the sandbox, as {@link SandboxHandle.kill} does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #address(port: number, options?: Omit<URLOptions, "signedForMs">): Promise<URL> {
    if (!Number.isInteger(port) || port < 1 || port > 65535) {
      throw new InvalidArgumentError(`Cannot make an address of port ${port}: it is not from 1 to 65535`);
    }
    return await this.#parts.transport.address(port, options);
  }

  /** The Sandbox itself, not its claim: operating mode and Pod belong to the Sandbox. */
  get #own(): Target {
    return { kind: "Sandbox", namespace: this.namespace, name: this.sandboxName };
  }
}

/**
 * Creates the handle of a sandbox that is Ready, or that the first request resumes.
 *
 * @param place name of its Sandbox, and the last known addresses of its Pod; empty if they are not known
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

/** Resumes the Sandbox of a target if it is suspended, and waits until it is Ready. @internal */
export async function resumeIfSuspended(
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
  return await untilResumed(context, target, known, options);
}

/** Waits for the Sandbox, whose status changes first, and then for its claim, whose status other clients read. */
async function untilResumed(
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
