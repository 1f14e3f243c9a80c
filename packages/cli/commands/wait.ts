/** `hookbox wait`: waits until sandboxes or pools are in a state. @module */
import type { Command } from "commander";
import { findCondition } from "../../api/objects/conditions.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import type { Api, ObjectPath } from "../../kube/api.ts";
import { explain } from "../../sdk/control/facts.ts";
import { find, findIfAny } from "../../sdk/control/find.ts";
import { sandboxNameOf } from "../../sdk/control/readiness.ts";
import { untilReady } from "../../sdk/control/ready.ts";
import { statesOf } from "../../sdk/control/states.ts";
import { TimeoutError } from "../../sdk/errors.ts";
import { CLAIM, findKind, POOL, SANDBOX } from "../../summary/kinds.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Failure, UsageError } from "../failure.ts";
import { durationMs, optionsOf, withCluster } from "../options.ts";
import { wordsFor } from "../sandbox.ts";
import { spinning } from "../terminal.ts";

const MORE = `
Prints one line for each name, as soon as it is in the state. If a sandbox cannot become ready, reports the cause at
once. The exit code is 124 if the time is over.

  ready                     the sandbox is ready; of a pool: all its sandboxes are
  suspended                 the Pod of the sandbox is gone
  finished                  the Pod of the sandbox has ended
  deleted                   the object is gone
  condition=TYPE[=STATUS]   the condition has this status (default: True), as for kubectl wait

Examples:
  hookbox wait session
  hookbox wait pool/python --timeout 10m
  hookbox rm session && hookbox wait sandbox/session --for deleted`;

export function defineWait(command: Command, context: CommandContext): void {
  command
    .argument("<names...>", "names of claims or Sandboxes, or kind/name such as pool/python")
    .option("--for <state>", "ready, suspended, finished, deleted or condition=TYPE[=STATUS]", "ready")
    .option("--timeout <time>", "give up after this time", "3m")
    .addHelpText("after", MORE)
    .action(async (names: string[]) => {
      const options = optionsOf<{ for: string; timeout: string }>(command);
      const timeoutMs = durationMs("--timeout", options.timeout);
      const state = parseState(options.for);
      const { api, namespace } = await context.connectCluster(options);
      const begun = performance.now();
      for (const name of new Set(names)) {
        const left = Math.max(1, Math.ceil(timeoutMs - (performance.now() - begun)));
        await waitFor(context, api, targetOf(name, namespace), state, { left, timeoutMs });
        context.stdout.write(`${name} ${state.said}\n`);
      }
    });
  withCluster(command);
}

interface WantedState {
  name: "ready" | "suspended" | "finished" | "deleted" | "condition";
  /** How the success is reported. */
  said: string;
  condition?: { type: string; status: string };
}

function parseState(text: string): WantedState {
  const [, type, status = "True"] = /^condition=([^=]+)(?:=(.+))?$/.exec(text) ?? [];
  if (type !== undefined) {
    return { name: "condition", said: `has condition ${type} ${status}`, condition: { type, status } };
  }
  const said = { ready: "is ready", suspended: "is suspended", finished: "has finished", deleted: "is deleted" };
  // kubectl has the word delete.
  const name = text === "delete" ? "deleted" : text.toLowerCase();
  if (name in said) return { name: name as keyof typeof said, said: said[name as keyof typeof said] };
  throw new UsageError(
    `Cannot wait for "${text}": use ready, suspended, finished, deleted or condition=TYPE[=STATUS]`,
  );
}

interface WaitTarget {
  /** Undefined: a claim, else a Sandbox. */
  kind: "SandboxClaim" | "Sandbox" | "SandboxWarmPool" | undefined;
  namespace: string;
  name: string;
}

function targetOf(text: string, namespace: string): WaitTarget {
  const [first = "", second, ...more] = text.split("/");
  if (second === undefined) return { kind: undefined, namespace, name: first };
  const kind = findKind(first)?.kind;
  if (kind === undefined || kind === "SandboxTemplate" || second === "" || more.length > 0) {
    throw new UsageError(`Cannot wait for "${text}": write a name, or claim/name, sandbox/name or pool/name`);
  }
  return { kind, namespace, name: second };
}

interface Limits {
  left: number;
  timeoutMs: number;
}

/** @throws {TimeoutError} if the time is over @throws {SandboxError} if the state cannot be reached */
async function waitFor(
  context: CommandContext,
  api: Api,
  target: WaitTarget,
  state: WantedState,
  { left, timeoutMs }: Limits,
): Promise<void> {
  const time = AbortSignal.timeout(Math.min(left, 2 ** 31 - 1));
  const signal = AbortSignal.any([context.signal, time]);
  try {
    await spinning(context, `Waiting for ${target.name}`, async (spinner) => {
      if (state.name === "ready" && target.kind !== "SandboxWarmPool") {
        return await untilSandboxReady(api, target, signal, left, (progress) => spinner.setText(wordsFor(progress)));
      }
      await untilState(context, api, target, state, signal);
    });
  } catch (error) {
    if (!time.aborted || context.signal.aborted) throw error;
    const object = { kind: target.kind ?? "Sandbox", namespace: target.namespace, name: target.name };
    const message = `Cannot wait longer for ${target.name}: it was not ${state.said.replace(/^(is|has) /, "")} after ` +
      `${timeoutMs / 1000} s`;
    const remedy = `To find out why: ${context.program} why ${target.name}`;
    throw new TimeoutError(message, { object, remedy });
  }
}

async function untilSandboxReady(
  api: Api,
  { kind, namespace, name }: WaitTarget,
  signal: AbortSignal,
  readyTimeoutMs: number,
  onProgress: (progress: Parameters<typeof wordsFor>[0]) => void,
): Promise<void> {
  const target = kind === "SandboxClaim" || kind === "Sandbox"
    ? { kind, namespace, name }
    : (await find(api, namespace, name, signal)).target;
  const longer = "To wait longer, use --timeout.";
  const diagnose = (subject: typeof target, signal: AbortSignal) => explain(api, subject, signal);
  await untilReady(api, target, { readyTimeoutMs, signal, onProgress, diagnose, longer });
}

const KINDS = { SandboxClaim: CLAIM, Sandbox: SANDBOX, SandboxWarmPool: POOL };

async function untilState(
  { program }: CommandContext,
  api: Api,
  { kind, namespace, name }: WaitTarget,
  state: WantedState,
  signal: AbortSignal,
): Promise<void> {
  const found = kind === undefined ? await findIfAny(api, namespace, name, signal) : undefined;
  if (kind === undefined && !found) {
    if (state.name === "deleted") return;
    throw new Failure(
      `Cannot wait for ${name}: there is neither a claim nor a Sandbox of that name`,
      `See which there are: ${program} get claims`,
    );
  }
  const own = { kind: kind ?? found?.target.kind ?? "Sandbox", name };
  // A claim does not say all that its Sandbox says.
  const isOfSandbox = state.name === "suspended" || state.name === "finished";
  const sandbox = isOfSandbox && found ? sandboxNameOf(found.claimOrSandbox) : undefined;
  const { kind: watched, name: object } = sandbox === undefined ? own : { kind: "Sandbox" as const, name: sandbox };
  const path: ObjectPath & { name: string } = { resource: KINDS[watched].resource, namespace, name: object };
  const end = new AbortController();
  const which = {
    path,
    object: { kind: watched, namespace, name: object },
    signal: AbortSignal.any([signal, end.signal]),
  };
  try {
    for await (const seen of statesOf<Sandbox | SandboxClaim | SandboxWarmPool>(api, which)) {
      if (seen === undefined && state.name !== "deleted") {
        throw new Failure(`Cannot wait for ${name}: ${watched} ${namespace}/${object} does not exist`);
      }
      if (holds(seen, state)) return;
    }
  } finally {
    end.abort();
  }
}

function holds(seen: Sandbox | SandboxClaim | SandboxWarmPool | undefined, { name, condition }: WantedState): boolean {
  if (name === "deleted") return seen === undefined;
  const { conditions } = seen?.status ?? {};
  if (name === "ready") {
    const { spec, status, metadata } = seen as SandboxWarmPool;
    const isCurrent = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
    return isCurrent && (status?.readyReplicas ?? 0) >= spec.replicas;
  }
  const { type, status } = condition ?? { type: name === "suspended" ? "Suspended" : "Finished", status: "True" };
  return findCondition(conditions, type)?.status === status;
}
