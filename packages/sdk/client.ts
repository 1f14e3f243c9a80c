/** The client of the SDK: creates, finds, lists and changes the sandboxes of one cluster. @module */
import type { Finding } from "../api/diagnosis/finding.ts";
import { IDLE_ANNOTATION } from "../api/router/protocol.ts";
import { timeAt } from "../kube/api.ts";
import { isEndless, secondsOf } from "./control/bodies.ts";
import { annotate, extendTimeoutOf, remove, setTimeoutOf } from "./control/change.ts";
import { create, type Created, discard } from "./control/create.ts";
import { find, findIfAny, listPage } from "./control/find.ts";
import { untilReady } from "./control/ready.ts";
import { ConflictError, SandboxError } from "./errors.ts";
import type { CreateOptions, ListOptions, SandboxInfo, SandboxPage, WaitOptions } from "./options.ts";
import { openHandle, resumeIfSuspended, SandboxHandle } from "./sandbox.ts";
import { type ClientContext, createClientContext } from "./setup/clientcontext.ts";
import type { ClientOptions } from "./setup/clientoptions.ts";
import { addAttributes, type Attributes, spanAttributes, traceCarrier, traced } from "./tracing.ts";

/** Returns the span attributes that tell where a new sandbox comes from: its pool, template or image. */
function sourceOf(namespace: string, { pool, template, image }: CreateOptions): Attributes {
  const source = { "sandbox.pool": pool, "sandbox.template": template, "container.image.name": image };
  return { "k8s.namespace.name": namespace, ...source };
}

/** Where to look for a sandbox, and a signal that cancels the call. */
export interface NameOptions {
  /** Namespace of the sandbox. @default the client's */
  namespace?: string;
  signal?: AbortSignal;
}

/** A list of sandboxes: iterate over all of them, or read it page by page. */
export interface SandboxList extends AsyncIterable<SandboxInfo> {
  /** Returns one page of at most `limit` sandboxes (default 100), and the cursor of the next page. */
  page(options?: { limit?: number; cursor?: string }): Promise<SandboxPage>;
}

/**
 * A client for one cluster. It also defines how requests reach the sandboxes: see `connection` in
 * {@link ClientOptions}.
 *
 * ```ts
 * const client = new SandboxClient({ context: "staging", namespace: "agents" });
 * await using sandbox = await client.create({ pool: "python" });
 * ```
 */
export class SandboxClient {
  readonly #context: ClientContext;

  /** Sends no request; the cluster is looked up at the first call. */
  constructor(options: ClientOptions = {}) {
    this.#context = createClientContext(options);
  }

  /**
   * Creates a sandbox and waits until it is Ready. The cluster deletes the sandbox after an hour, unless `timeoutMs` is
   * set. If the call fails or is aborted, everything that it has created is deleted again, and the error contains the
   * cause. To keep a sandbox that does not become Ready, set `keepFailed`. If something could not be deleted, the
   * message and `leftover` of the error name it.
   *
   * @throws {@link InvalidArgumentError} if an option is invalid, if options contradict each other, or if `idleMs` is set
   * and the client has no router
   * @throws {@link TemplateError} if the pool or the template does not exist
   * @throws {@link ConflictError} if a sandbox of that name exists
   * @throws {@link SandboxFailedError} with the cause, as soon as it is certain that the sandbox cannot become Ready
   * @throws {@link TimeoutError} after `readyTimeoutMs`
   */
  async create(options: CreateOptions): Promise<SandboxHandle> {
    try {
      return await this.#create(options);
    } catch (error) {
      // A pool that another call had created for the template is deleted if that call fails.
      const isPoolGone = error instanceof SandboxError && error.reason === "WarmPoolNotFound" && !error.leftover;
      if (options.template === undefined || options.keepFailed || !isPoolGone) throw error;
      return await this.#create(options);
    }
  }

  async #create(options: CreateOptions): Promise<SandboxHandle> {
    const context = this.#context;
    const api = await context.api();
    const namespace = options.namespace ?? await context.namespace();
    return await traced("hookbox.create", sourceOf(namespace, options), async () => {
      // Taken before the span of the request starts: work of other components belongs to the whole creation.
      const creator = { now: new Date(), trace: traceCarrier(), hasRouter: context.hasRouter };
      const request = () => create(api, namespace, options, creator);
      const created = await traced("hookbox.create_object", {}, request);
      addAttributes(spanAttributes(created.target));
      try {
        return await traced("hookbox.wait_until_ready", {}, () => this.#opened(created, options));
      } catch (error) {
        throw options.keepFailed ? error : await discard(api, created.made, error);
      }
    });
  }

  /**
   * Opens an existing sandbox by name, and resumes it if it is suspended.
   *
   * @throws {@link SandboxNotFoundError} if there is no such sandbox
   */
  async connect(name: string, options: NameOptions & WaitOptions = {}): Promise<SandboxHandle> {
    const context = this.#context;
    const namespace = options.namespace ?? await context.namespace();
    if (await context.isRouterAlone()) {
      return await openHandle(
        context,
        { kind: "Sandbox", namespace, name },
        { sandboxName: name, podIPs: [] },
        undefined,
      );
    }
    const { target, claimOrSandbox } = await find(await context.api(), namespace, name, options.signal);
    return await openHandle(
      context,
      target,
      await resumeIfSuspended(context, target, claimOrSandbox, options),
      claimOrSandbox.metadata.uid,
    );
  }

  /** Opens a sandbox by name, as {@link SandboxClient.connect} does, or creates it if it does not exist. */
  async getOrCreate(name: string, options: CreateOptions): Promise<SandboxHandle> {
    const namespace = options.namespace ?? await this.#context.namespace();
    if (await findIfAny(await this.#context.api(), namespace, name, options.signal)) {
      return await this.connect(name, options);
    }
    try {
      return await this.create({ ...options, name });
    } catch (error) {
      // Another caller created it at the same time.
      if (error instanceof ConflictError) return await this.connect(name, options);
      throw error;
    }
  }

  /** Lists claims, and Sandboxes that were created without a claim. Unused Sandboxes of pools are not listed. */
  list(options: ListOptions = {}): SandboxList {
    const page: SandboxList["page"] = async (where) => {
      const namespace = options.namespace ?? await this.#context.namespace();
      return await listPage(await this.#context.api(), namespace === "*" ? undefined : namespace, options, where);
    };
    async function* all(): AsyncGenerator<SandboxInfo> {
      for (let next: SandboxPage | undefined = await page(); next;) {
        yield* next.items;
        next = next.cursor === undefined ? undefined : await page({ cursor: next.cursor });
      }
    }
    return { page, [Symbol.asyncIterator]: all };
  }

  /** Deletes a sandbox with its Pod and volumes. Returns false if there is no such sandbox. */
  async kill(name: string, options: NameOptions = {}): Promise<boolean> {
    const found = await this.#find(name, options, true);
    return found
      ? await remove(await this.#context.api(), found.target, found.claimOrSandbox.metadata.uid, options.signal)
      : false;
  }

  /** Suspends a sandbox: deletes its Pod, and keeps its name, volumes and Service. Resolves when the Pod is gone. */
  async suspend(name: string, options: NameOptions = {}): Promise<void> {
    await (await this.#handle(name, options)).suspend(options);
  }

  /** Resumes a suspended sandbox: creates a new Pod for it. Resolves when the sandbox is Ready. */
  async resume(name: string, options: NameOptions & WaitOptions = {}): Promise<void> {
    await (await this.#handle(name, options)).resume(options);
  }

  /** Restarts a sandbox: replaces its Pod by a new one, created from the current spec. Resolves when it is Ready. */
  async restart(name: string, options: NameOptions & WaitOptions = {}): Promise<void> {
    await (await this.#handle(name, options)).restart(options);
  }

  /**
   * Sets the time until a sandbox is deleted, in milliseconds from now. With null, it is never deleted. Returns the
   * time of the deletion.
   */
  async setTimeout(name: string, ms: number | null, options: NameOptions = {}): Promise<Date | undefined> {
    const { target } = await this.#find(name, options);
    const api = await this.#context.api();
    return await setTimeoutOf(api, target, ms, new Date(timeAt(api)), options.signal);
  }

  /** Extends the time until a sandbox is deleted, by this many milliseconds. Returns the new time of the deletion. */
  async extendTimeout(name: string, ms: number, options: NameOptions = {}): Promise<Date> {
    const { target } = await this.#find(name, options);
    return await extendTimeoutOf(await this.#context.api(), target, ms, options.signal);
  }

  /** Reads the current state of a sandbox. @throws {@link SandboxNotFoundError} if there is no such sandbox */
  async getInfo(name: string, options: NameOptions = {}): Promise<SandboxInfo> {
    return await (await this.#handle(name, options)).getInfo(options);
  }

  /**
   * Finds out why a sandbox is in its current state.
   *
   * @throws {@link SandboxNotFoundError} if there is no such sandbox
   */
  async why(name: string, options: NameOptions = {}): Promise<Finding> {
    const { target } = await this.#find(name, options);
    return await this.#context.why(target, options.signal);
  }

  async #opened({ target, claimOrSandbox }: Created, options: CreateOptions): Promise<SandboxHandle> {
    const context = this.#context;
    const api = await context.api();
    const ready = await untilReady(api, target, { ...options, known: claimOrSandbox, diagnose: context.why });
    const { namespace } = target;
    if (options.idleMs !== undefined && !isEndless(options.idleMs) && target.kind === "SandboxClaim") {
      const own = { kind: "Sandbox", namespace, name: ready.sandboxName } as const;
      await annotate(api, own, { [IDLE_ANNOTATION]: secondsOf(options.idleMs) }, options.signal);
    }
    return await openHandle(context, target, ready, claimOrSandbox.metadata.uid);
  }

  async #find(name: string, options: NameOptions): Promise<Awaited<ReturnType<typeof find>>>;
  async #find(name: string, options: NameOptions, mayMiss: true): ReturnType<typeof findIfAny>;
  async #find(name: string, { namespace, signal }: NameOptions, mayMiss = false) {
    const look = mayMiss ? findIfAny : find;
    return await look(await this.#context.api(), namespace ?? await this.#context.namespace(), name, signal);
  }

  async #handle(name: string, options: NameOptions): Promise<SandboxHandle> {
    const { target, claimOrSandbox } = await this.#find(name, options);
    const sandboxName = claimOrSandbox.kind === "Sandbox" ? name : claimOrSandbox.status?.sandbox?.name ?? name;
    return await openHandle(this.#context, target, { sandboxName, podIPs: [] }, claimOrSandbox.metadata.uid);
  }
}
