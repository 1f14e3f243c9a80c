/** Runs a scenario file on a cluster in memory or a real one, and returns its history. @module */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { canonicalJson, sameJson } from "../../api/objects/apply.ts";
import { type Condition, findCondition } from "../../api/objects/conditions.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Answer, answerError, type Api, isOk, pathOf } from "../../kube/api.ts";
import { digestOf, isSubsequence, type ScenarioHistory, type Segment } from "./compare.ts";
import {
  isScenarioKind,
  type Kind,
  KINDS,
  type ObjectName,
  readScenario,
  replaceTimes,
  type Scenario,
  type Step,
  type Wanted,
} from "./format.ts";
import { type Passing, type Recorder, startRecorder } from "./recorder.ts";

/** The cluster of a scenario: a TestCluster with fake time, or an API server on which hookbox is installed. */
export interface ScenarioWorld {
  api: Api;
  /** Absent: real time. */
  clock?: { now(): number; advance(milliseconds: number): Promise<void> };
  /** Namespace of the objects; it must exist and be empty. @default "default" */
  namespace?: string;
  /** How time passes; must not be `auto`. */
  time?: "fake" | "auto";
}

/** Options of {@link runScenario}. */
export interface ScenarioOptions {
  /**
   * The cluster counts as at rest after this time without changes, in milliseconds. It must be longer than
   * Metacontroller takes between two writes, and a Pod between two stages. Default: 3000 with a fake clock, 1500 with
   * real time.
   */
  quietMs?: number;
}

interface Run extends Required<ScenarioOptions> {
  api: Api;
  namespace: string;
  recorder: Recorder;
  now(): number;
  pass(milliseconds: number): Promise<void>;
}

const POLL_MS = 10;
/** A run fails if the cluster is not at rest after this time, in milliseconds. */
const MAX_UNREST_MS = 120_000;

/**
 * Runs a scenario step by step. After each step it waits until nothing changes any more, so that a `wait` cannot
 * succeed with the state from before the step. A segment of the history ends with the rest after a `wait` or an
 * `advance`. The created objects are not deleted.
 *
 * @param scenario URL of the file, or the result of `readScenario`
 * @throws {Error} if a request is refused, a `wait` takes too long, or an `expect` fails. An `expect` lists the states
 * of a condition: those seen so far must be in the list, in this order, and end with its last; others may be missing
 */
export async function runScenario(
  scenario: URL | Scenario,
  world: ScenarioWorld,
  options: ScenarioOptions = {},
): Promise<ScenarioHistory> {
  if (world.time === "auto") {
    throw new RangeError('Cannot run a scenario: the time of the cluster is "auto", not "fake"');
  }
  const { steps } = scenario instanceof URL ? readScenario(await readFile(scenario, "utf8")) : scenario;
  const { api, clock, namespace = "default" } = world;
  const { quietMs = clock ? 3000 : 1500 } = options;
  const ending = new AbortController();
  try {
    const now = clock ? clock.now : Date.now;
    const recorder = await startRecorder(api, namespace, { signal: ending.signal, now });
    const pass = clock ? clock.advance : (milliseconds: number) => sleep(milliseconds);
    const run: Run = { api, namespace, recorder, now, pass, quietMs };
    const names = namesIn(steps);
    const segments: Segment[] = [];
    const titles: string[] = [];
    for (const [index, step] of steps.entries()) {
      titles.push(titleOf(step));
      await perform(run, step);
      await untilStable(run, step.step === "wait" || step.step === "expect" ? 0 : now());
      if (step.step !== "wait" && step.step !== "advance" && index < steps.length - 1) continue;
      segments.push(segmentOf(recorder, titles.splice(0), names));
      recorder.turn();
    }
    return { segments };
  } finally {
    ending.abort();
  }
}

async function perform(run: Run, step: Step): Promise<void> {
  const { api, namespace, recorder } = run;
  const send = async (method: "PATCH" | "DELETE", { kind, name }: ObjectName, body: unknown) =>
    checkOk(step, await api.send({ method, path: pathOf({ resource: KINDS[kind], namespace, name }), body }));
  switch (step.step) {
    case "apply":
      return await apply(run, step);
    case "patch":
      return await send("PATCH", step.target, replaceTimes(step.change, run.now()));
    case "delete":
      return await send("DELETE", step.target, step.propagation && { propagationPolicy: step.propagation });
    case "advance":
      return await run.pass(step.ms);
    case "expect":
      return checkExpectation(titleOf(step), step.seen, recorder.all().get(keyOf(step.target)) ?? {});
    case "wait": {
      const late = run.now() + step.withinMs;
      const find = () => recorder.objects(step.target.kind).find(({ metadata }) => metadata.name === step.target.name);
      while (!isAsWanted(find(), step.wanted)) {
        if (run.now() >= late) {
          throw new Error(`Cannot ${titleOf(step)}: it is ${canonicalJson(find()?.["status"] ?? null)}`);
        }
        await run.pass(POLL_MS);
      }
    }
  }
}

async function apply(run: Run, step: Step & { step: "apply" }): Promise<void> {
  const { api, namespace } = run;
  const object = replaceTimes(step.object, run.now());
  if (!isScenarioKind(object.kind)) {
    throw new RangeError(`Cannot apply ${object.kind}: scenarios do not know that kind`);
  }
  const resource = KINDS[object.kind];
  const made = await api.send({ method: "POST", path: pathOf({ resource, namespace }), body: object });
  if ((made.body as { reason?: string }).reason !== "AlreadyExists") return checkOk(step, made);
  const path = pathOf({ resource, namespace, name: object.metadata.name });
  checkOk(step, await api.send({ method: "PATCH", path, body: object }));
}

function checkOk(step: Step, answer: Answer): void {
  if (!isOk(answer)) throw answerError(titleOf(step), answer);
}

/**
 * Waits until nothing has changed for a while.
 *
 * @param since when the last action was, whose effect must be seen first
 */
async function untilStable({ recorder, now, pass, quietMs }: Run, since: number): Promise<void> {
  const late = now() + MAX_UNREST_MS;
  for (;;) {
    const left = Math.max(since, recorder.lastAt()) + quietMs - now();
    if (left <= 0) return;
    if (now() > late) throw new Error(`Cannot go on: the world is not at rest after ${MAX_UNREST_MS / 1000} s`);
    await pass(left);
  }
}

function segmentOf(recorder: Recorder, steps: string[], names: ReadonlySet<string>): Segment {
  const isNamed = ({ kind, metadata }: KubeObject) => names.has(keyOf({ kind: kind as Kind, name: metadata.name }));
  const all = (Object.keys(KINDS) as Kind[]).flatMap((kind) => recorder.objects(kind));
  const named = all.filter(isNamed).map((object) => [`${object.kind}/${object.metadata.name}`, digestOf(object)]);
  const others: Segment["others"] = {};
  for (const object of all.filter((object) => !isNamed(object))) {
    const counts = others[object.kind as Kind] ??= {};
    const text = canonicalJson(digestOf(object));
    counts[text] = (counts[text] ?? 0) + 1;
  }
  const passing = [...recorder.passing()].filter(([key]) => names.has(key)).sort();
  return { steps, named: Object.fromEntries(named.sort()), others, passing: Object.fromEntries(passing) };
}

/**
 * Returns the names of a scenario's objects. With a cold start, a claim's Sandbox and its Pod have the claim's name.
 */
function namesIn(steps: Step[]): Set<string> {
  const applied = steps.flatMap((step) => step.step === "apply" ? [step.object] : []);
  return new Set(applied.flatMap(({ kind, metadata: { name } }) => [
    `${kind}/${name}`,
    ...(kind === "SandboxClaim" ? [`Sandbox/${name}`, `Pod/${name}`] : []),
    ...(kind === "Sandbox" ? [`Pod/${name}`] : []),
  ]));
}

function titleOf(step: Step): string {
  switch (step.step) {
    case "apply":
      return `apply ${step.object.kind}/${step.object.metadata.name}`;
    case "advance":
      return `advance ${step.ms} ms`;
    case "wait":
      return `wait for ${keyOf(step.target)} to be ${canonicalJson(step.wanted)}`;
    default:
      return `${step.step} ${keyOf(step.target)}`;
  }
}

function keyOf({ kind, name }: ObjectName): string {
  return `${kind}/${name}`;
}

/** Tells whether an object is as required; `object` undefined: there is none. */
function isAsWanted(object: KubeObject | undefined, wanted: Wanted): boolean {
  if (wanted === "gone") return object === undefined;
  const status = (object?.["status"] ?? {}) as Record<string, unknown> & { conditions?: Condition[] };
  if (!isCondition(wanted)) return Object.entries(wanted).every(([key, value]) => sameJson(status[key], value));
  const found = findCondition(status.conditions, wanted.type);
  return found?.status === wanted.status && (wanted.reason === undefined || found.reason === wanted.reason);
}

/**
 * Checks the states of conditions.
 *
 * @throws {Error} with the condition and its real states if they are not as expected
 */
function checkExpectation(title: string, expected: Record<string, string[]>, seen: Passing): void {
  for (const [type, states] of Object.entries(expected)) {
    const track = seen[type] ?? [];
    const fits = track.at(-1) === states.at(-1) && isSubsequence(track, states);
    if (!fits) throw new Error(`Cannot ${title}: ${type} was ${track.join(", ") || "never there"}`);
  }
}

function isCondition(
  wanted: Exclude<Wanted, "gone">,
): wanted is Exclude<Wanted, "gone"> & { type: string; status: string; reason: string | undefined } {
  return typeof wanted["type"] === "string" && typeof wanted["status"] === "string";
}
