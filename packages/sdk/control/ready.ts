/** Waits until a claim or a Sandbox is Ready, or cannot become Ready. @module */
import type { Finding } from "../../api/diagnosis/finding.ts";
import type { Api } from "../../kube/api.ts";
import {
  type ErrorDetails,
  SandboxError,
  SandboxFailedError,
  SandboxNotFoundError,
  TemplateError,
  TimeoutError,
} from "../errors.ts";
import type { WaitOptions } from "../options.ts";
import { placeOf, refOf, type Target, wordsFor } from "./find.ts";
import { type ClaimOrSandbox, type Readiness, readinessOf } from "./readiness.ts";
import { statesOf } from "./states.ts";

/** Finds out why an object is not Ready; undefined if that cannot be read. */
export type Diagnose = (target: Target, signal: AbortSignal) => Promise<Finding | undefined>;

/** Options of the wait. */
export interface ReadyWait extends WaitOptions {
  diagnose: Diagnose;
  /** A state of the object that was read already. */
  known?: ClaimOrSandbox;
  /** Advice for waiting longer, at the end of a TimeoutError. @default {@link LONGER} */
  longer?: string;
}

const LONGER = "To wait longer, raise `readyTimeoutMs`.";

/** A Sandbox or claim that is Ready. */
export interface Ready {
  claimOrSandbox: ClaimOrSandbox;
  sandboxName: string;
  podIPs: string[];
}

const DEFAULT_READY_TIMEOUT_MS = 180_000;
/**
 * Times after the call at which an object that is not Ready is diagnosed, in milliseconds. Most are Ready before the
 * first.
 */
const DIAGNOSE_AFTER_MS = [2000, 4000, 8000, 15_000, 30_000, 60_000, 120_000];
const TEMPLATE_CODES = new Set([
  "TemplateNotFound",
  "WarmPoolNotFound",
  "EnvVarsInjectionRejected",
  "VolumeClaimTemplatesError",
]);

/**
 * Waits with a single watch.
 *
 * | event | result |
 * |---|---|
 * | Ready | returns |
 * | final reason, or a diagnosis with a cause that waiting cannot fix | {@link SandboxFailedError} with the cause |
 * | the object is deleted | {@link SandboxNotFoundError} |
 * | the time is over | {@link TimeoutError} with what the object is waiting for |
 */
export async function untilReady(api: Api, target: Target, waiting: ReadyWait): Promise<Ready> {
  const { readyTimeoutMs = DEFAULT_READY_TIMEOUT_MS, signal, onProgress = () => {}, diagnose, known, longer = LONGER } =
    waiting;
  const begun = performance.now();
  const end = new AbortController();
  const both = signal ? AbortSignal.any([signal, end.signal]) : end.signal;
  const found = diagnoseAt(target, diagnose, both, { timeoutMs: readyTimeoutMs, longer });
  const states = statesOf<ClaimOrSandbox>(api, {
    path: placeOf(target),
    object: refOf(target),
    signal: both,
    ...known ? { known } : {},
  });
  let last: Readiness | undefined;
  try {
    for (let next = states.next();;) {
      const event = await Promise.race([next, found.next]);
      if (event instanceof Error) throw event;
      next = states.next();
      next.catch(() => {});
      const claimOrSandbox = event.value as ClaimOrSandbox | undefined;
      if (!claimOrSandbox) {
        throw new SandboxNotFoundError(`Cannot wait for ${wordsFor(target)}: it does not exist`, {
          object: refOf(target),
        });
      }
      const readiness = readinessOf(claimOrSandbox);
      if (readiness.state === "ready") return { claimOrSandbox, ...readiness };
      if (readiness.state === "failed") throw await failure(target, readiness, diagnose, both);
      if (readiness.reason !== (last as typeof readiness | undefined)?.reason) {
        onProgress({ reason: readiness.reason, message: readiness.message, elapsedMs: performance.now() - begun });
        if (readiness.reason === "ReconcilerError") found.look();
      }
      last = readiness;
    }
  } finally {
    end.abort();
    found.stop();
  }
}

/** Diagnoses an object that takes long. `next` resolves with an error as soon as the wait must end. */
function diagnoseAt(
  target: Target,
  diagnose: Diagnose,
  signal: AbortSignal,
  { timeoutMs, longer }: { timeoutMs: number; longer: string },
) {
  const { promise: next, resolve } = Promise.withResolvers<Error>();
  const look = async () => {
    const finding = await diagnose(target, signal).catch(() => undefined);
    if (finding?.hopeless) resolve(errorOfFinding(target, finding));
  };
  const late = async () => {
    const finding = await diagnose(target, signal).catch(() => undefined);
    const cause = finding && !finding.isOk ? `: ${uncapitalised(finding.summary)}` : "";
    const message = `Cannot use ${wordsFor(target)}: it was not Ready after ${timeoutMs / 1000} s${cause}`;
    const details = finding ? detailsOf(finding) : { object: refOf(target) };
    // For an object that is starting, the remedy of the finding would be to wait.
    const remedy = finding && finding.code !== "Starting" && !finding.isOk ? `${finding.remedy} ${longer}` : longer;
    resolve(new TimeoutError(message, { ...details, remedy }));
  };
  const timers = [
    ...DIAGNOSE_AFTER_MS.filter((ms) => ms < timeoutMs).map((ms) => setTimeout(look, ms)),
    setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1)),
  ];
  signal.addEventListener("abort", () => resolve(signal.reason as Error), { once: true });
  return { next, look, stop: () => timers.forEach((timer) => clearTimeout(timer)) };
}

async function failure(
  target: Target,
  { reason, message }: Extract<Readiness, { state: "failed" }>,
  diagnose: Diagnose,
  signal: AbortSignal,
): Promise<SandboxError> {
  const finding = await diagnose(target, signal).catch(() => undefined);
  signal.throwIfAborted();
  if (finding && !finding.isOk) return errorOfFinding(target, finding, reason);
  return new (failed(reason))(`Cannot use ${wordsFor(target)}: ${message || reason}`, {
    reason,
    object: refOf(target),
  });
}

function errorOfFinding(target: Target, finding: Finding, reason: string = finding.code): SandboxError {
  const message = `Cannot use ${wordsFor(target)}: ${uncapitalised(finding.summary)}`;
  return new (failed(reason))(message, detailsOf(finding));
}

function failed(reason: string): typeof SandboxFailedError {
  return TEMPLATE_CODES.has(reason) ? TemplateError : SandboxFailedError;
}

function detailsOf({ code, object, remedy }: Finding): ErrorDetails {
  return { reason: code, object, remedy };
}

/** Prepares a sentence to follow a colon: lower-case first letter, unless it is a name, and no full stop. */
function uncapitalised(sentence: string): string {
  const text = sentence.replace(/\.$/, "");
  return /^[A-Z][a-z]* /.test(text) && !/^[A-Z][a-z]+[A-Z]/.test(text)
    ? text.charAt(0).toLowerCase() + text.slice(1)
    : text;
}
