/** Puts the router together around an API server. Opens no port. @module */
import type { Api } from "../kube/api.ts";
import type { Log } from "../lib/log.ts";
import { createGate, type Gate, openGate } from "./access/gate.ts";
import { createLimits } from "./access/limits.ts";
import { createScopedAccess } from "./access/scoped.ts";
import { secretsIn } from "./access/secretfile.ts";
import { createTokenReviewAccess } from "./access/tokenreview.ts";
import { createHandler, type Handler } from "./handle.ts";
import { createLook } from "./index/look.ts";
import { createSandboxIndex, type SandboxIndex } from "./index/sandboxindex.ts";
import { followSandboxes } from "./index/watches.ts";
import type { RouterOptions } from "./options.ts";
import { createDialler } from "./proxy/dial.ts";
import { createReach } from "./reach.ts";
import type { Target } from "./target/target.ts";
import { createBudget } from "./budget.ts";
import { createHold } from "./wake/hold.ts";
import { createWaker } from "./wake/waker.ts";

/** The router without its ports. */
export interface Router {
  handler: Handler;
  index: SandboxIndex;
  isReady(): boolean;
  /** Resolves once every Sandbox and Pod has been seen: a router that knows nothing yet would deny what exists. */
  ready: Promise<void>;
  /** Ends the kept connections to sandboxes. */
  close(): void;
}

export type RouterSettings = Omit<
  RouterOptions,
  "http" | "https" | "h2c" | "health" | "kubeconfig" | "context" | "logLevel"
>;

/** Makes the router; it watches until `signal` fires. */
export function assembleRouter(api: Api, options: RouterSettings, log: Log, signal: AbortSignal): Router {
  const { namespace, allowLoopback } = options;
  const dialler = createDialler(options.dialMs);
  const index = createSandboxIndex(dialler.forget);
  let isListed = false;
  const ready = new Promise<void>((resolve) => {
    const onListed = () => resolve(void (isListed = true));
    followSandboxes(api, index, { log, signal, namespace, allowLoopback, onListed });
  });
  const { cookieName } = options.browser;
  const settings = { ...options, cookieName, dialler, onRetry: () => {}, onUpstreamError: () => {} };
  const hold = createHold({
    index,
    look: createLook(api, index, log),
    wake: createWaker({ api, index, log, signal, onWoken: () => {} }),
    wakes: createBudget(options.wakesPerMinute / 60, options.wakesPerMinute),
    mayWake: options.mayWake,
    holdMs: options.holdMs,
    maxHeld: options.maxHeld,
    onHeld: () => {},
  });
  const reach = createReach(index, hold);
  return {
    handler: createHandler({
      routing: { allowLoopback, pathPrefix: options.pathPrefix, domain: options.domain, exists: existsIn(index) },
      gate: gateOf(api, options, log),
      limits: createLimits(options.limits),
      reach,
      settings,
    }),
    index,
    ready,
    isReady: () => isListed,
    close: dialler.close,
  };
}

function existsIn(index: SandboxIndex): (target: Target) => boolean {
  return ({ namespace, name }) => index.find(namespace, name)?.sandbox.isUnclaimed === false;
}

function gateOf(api: Api, { authz, browser }: RouterSettings, log: Log): Gate {
  if (authz.mode === "allow-all") return openGate;
  const authorise = authz.mode === "tokenreview"
    ? createTokenReviewAccess({ ...authz, api, log })
    : createScopedAccess(secretsIn(authz.secretFile, log));
  return createGate(authorise, browser);
}
