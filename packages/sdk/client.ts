/** The verbs of the SDK, bound to one cluster. @module */
import type { Finding } from "../api/diagnosis/finding.ts";
import { annotate, extendTimeoutOf, remove, setTimeoutOf } from "./control/change.ts";
import { IDLE_ANNOTATION } from "../api/router/annotations.ts";
import { isEndless, secondsOf } from "./control/bodies.ts";
import { create, type Created } from "./control/create.ts";
import { find, findIfAny } from "./control/find.ts";
import { listPage, type SandboxPage } from "./control/list.ts";
import { untilReady } from "./control/ready.ts";
import { ConflictError } from "./errors.ts";
import type { CreateOptions, ListOptions, SandboxInfo, WaitOptions } from "./options.ts";
import { openHandle, SandboxHandle, wake } from "./sandbox.ts";
import type { ClientOptions } from "./setup/options.ts";
import { type ClientContext, createClientContext } from "./setup/clientcontext.ts";
import { addAttributes, type Attributes, spanAttributes, traceCarrier, traced } from "./tracing.ts";

/** What a span says of where a sandbox comes from. */
function sourceOf(namespace: string, { pool, template, image }: CreateOptions): Attributes {
  const source = { "sandbox.pool": pool, "sandbox.template": template, "container.image.name": image };
  return { "k8s.namespace.name": namespace, ...source };
}

/** Where a sandbox is looked for, and who may give up. */
export interface NameOptions {
  /** @default the client's */
  namespace?: string;
  signal?: AbortSignal;
}

/** A list of sandboxes: iterate over it, or take it page by page. */
export interface SandboxList extends AsyncIterable<SandboxInfo> {
  /** Returns some of them, 100 of a kind unless told otherwise, and the cursor for the next call. */
  page(options?: { limit?: number; cursor?: string }): Promise<SandboxPage>;
}

/**
 * The SDK's verbs, bound to one cluster and one way to sandboxes.
 *
 * ```ts
 * const client = new SandboxClient({ context: "staging", namespace: "agents" });
 * await using sandbox = await client.create({ pool: "python" });
 * ```
 */
export class SandboxClient {
  readonly #context: ClientContext;

  /** Asks for nothing yet. */
  constructor(options: ClientOptions = {}) {
    this.#context = createClientContext(options);
  }

  /**
   * Makes a sandbox and waits until it is Ready. What does not become Ready is deleted again, and says why.
   *
   * @throws {@link InvalidArgumentError} if the options make no sense
   * @throws {@link ConflictError} if there is one of that name
   * @throws {@link SandboxFailedError} as soon as it is certain that it cannot become Ready, with the cause
   * @throws {@link TimeoutError} after `readyTimeoutMs`
   */
  async create(options: CreateOptions): Promise<SandboxHandle> {
    const context = this.#context;
    const api = await context.api();
    const namespace = options.namespace ?? await context.namespace();
    return await traced("hookbox.create", sourceOf(namespace, options), async () => {
      // What others do for the object is part of the whole, not of this request.
      const trace = traceCarrier();
      const request = () => create(api, namespace, options, new Date(), trace);
      const created = await traced("hookbox.create_object", {}, request);
      addAttributes(spanAttributes(created.target));
      try {
        return await traced("hookbox.wait_until_ready", {}, () => this.#opened(created, options));
      } catch (error) {
        const { metadata: { uid } } = created.claimOrSandbox;
        // The failure that is told is the first one.
        if (!options.keepFailed) await remove(api, created.target, uid).catch(() => {});
        throw error;
      }
    });
  }

  /** Opens the sandbox of a name; wakes it where it is suspended. @throws {@link SandboxNotFoundError} if there is none */
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
      await wake(context, target, claimOrSandbox, options),
      claimOrSandbox.metadata.uid,
    );
  }

  /** Opens the sandbox of a name as {@link SandboxClient.connect} does, and makes it if there is none. */
  async getOrCreate(name: string, options: CreateOptions): Promise<SandboxHandle> {
    const namespace = options.namespace ?? await this.#context.namespace();
    if (await findIfAny(await this.#context.api(), namespace, name, options.signal)) {
      return await this.connect(name, options);
    }
    try {
      return await this.create({ ...options, name });
    } catch (error) {
      // Somebody else has made it just now.
      if (error instanceof ConflictError) return await this.connect(name, options);
      throw error;
    }
  }

  /** Lists sandboxes: claims, and Sandboxes of their own; not what waits in pools. */
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

  /** Deletes a sandbox with all it has; false if there is none. */
  async kill(name: string, options: NameOptions = {}): Promise<boolean> {
    const found = await this.#find(name, options, true);
    return found
      ? await remove(await this.#context.api(), found.target, found.claimOrSandbox.metadata.uid, options.signal)
      : false;
  }

  /** Ends a sandbox's Pod and keeps the rest. */
  async suspend(name: string, options: NameOptions = {}): Promise<void> {
    await (await this.#handle(name, options)).suspend(options);
  }

  /** Gives a sandbox a Pod again; resolves when it is Ready. */
  async resume(name: string, options: NameOptions & WaitOptions = {}): Promise<void> {
    await (await this.#handle(name, options)).resume(options);
  }

  /** Gives a sandbox another Pod, made from its spec as that is now; resolves when it is Ready. */
  async restart(name: string, options: NameOptions & WaitOptions = {}): Promise<void> {
    await (await this.#handle(name, options)).restart(options);
  }

  /** Lets a sandbox live so many milliseconds from now; null: for ever. Returns when it will end. */
  async setTimeout(name: string, ms: number | null, options: NameOptions = {}): Promise<Date | undefined> {
    const { target } = await this.#find(name, options);
    return await setTimeoutOf(await this.#context.api(), target, ms, new Date(), options.signal);
  }

  /** Adds to the time that a sandbox has left. Returns when it will end. */
  async extendTimeout(name: string, ms: number, options: NameOptions = {}): Promise<Date> {
    const { target } = await this.#find(name, options);
    return await extendTimeoutOf(await this.#context.api(), target, ms, options.signal);
  }

  /** Reads how a sandbox is. @throws {@link SandboxNotFoundError} if there is none */
  async getInfo(name: string, options: NameOptions = {}): Promise<SandboxInfo> {
    return await (await this.#handle(name, options)).getInfo(options);
  }

  /** Finds out why a sandbox is as it is. @throws {@link SandboxNotFoundError} if there is none */
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
