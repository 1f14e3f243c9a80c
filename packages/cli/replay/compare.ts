/** What differs between two answers to one request, as Metacontroller would carry them out. Pure. @module */
import { fieldChanges } from "./values.ts";

/** An answer: its HTTP status and its JSON value. */
export interface Answered {
  status: number;
  body: unknown;
}

/**
 * One thing that the second answer does otherwise.
 *
 * | effect | what |
 * |---|---|
 * | `answers` | another HTTP status, such as an exception (500) or a refusal of the guard (429) |
 * | `deletes` | a child that is there goes: the first answer wanted it |
 * | `keeps` | a child that is there stays: the first answer left it out |
 * | `creates` | a child that is not there is wanted |
 * | `omits` | a child that is not there is not wanted any more |
 * | `changes` | a field of a child, or of the answer itself, has another value |
 */
export interface Change {
  effect: "answers" | "deletes" | "keeps" | "creates" | "omits" | "changes";
  /** The child, as kind and name; absent: it is about the parent, or the whole answer. */
  child?: { kind: string; name: string };
  /** Empty where it is about a whole child or the HTTP status. */
  path: string;
  before: unknown;
  after: unknown;
}

type Child = { apiVersion?: string; kind?: string; metadata?: { name?: string } };
type Body = Record<string, unknown> & { children?: Child[]; attachments?: Child[] };

/**
 * Compares two answers: children by kind and name, conditions by type, `resyncAfterSeconds`, labels and annotations, what
 * customize asks for. The order of children means nothing. Of answers that are errors only the status counts.
 */
export function answerChanges(request: unknown, before: Answered, after: Answered): Change[] {
  if (before.status !== after.status) {
    return [{ effect: "answers", path: "", before: errorOf(before), after: errorOf(after) }];
  }
  if (before.status !== 200) return [];
  const { children: _, attachments: __, ...rest } = before.body as Body;
  const { children: ___, attachments: ____, ...otherRest } = after.body as Body;
  const ofParent = fieldChanges(rest, otherRest).map((change) => ({ effect: "changes", ...change }) as const);
  return [...childChanges(request, before.body as Body, after.body as Body), ...ofParent];
}

/** The status, and the error that an answer names. */
function errorOf({ status, body }: Answered): string {
  const error = (body as { error?: unknown } | null)?.error;
  return typeof error === "string" ? `${status} ${error}` : String(status);
}

function childChanges(request: unknown, before: Body, after: Body): Change[] {
  const [old, now] = [childrenOf(before), childrenOf(after)];
  const observed = observedKeys(request);
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): Change[] => {
    const [was, is] = [old.get(key), now.get(key)];
    const { kind = "", metadata } = is ?? was ?? {};
    const child = { kind, name: metadata?.name ?? "" };
    const isThere = observed.has(key);
    if (!is) return [{ effect: isThere ? "deletes" : "omits", child, path: "", before: was, after: is }];
    if (!was) return [{ effect: isThere ? "keeps" : "creates", child, path: "", before: was, after: is }];
    return fieldChanges(was, is).map((change) => ({ effect: "changes", child, ...change }));
  });
}

function childrenOf({ children, attachments }: Body): Map<string, Child> {
  return new Map((children ?? attachments ?? []).map((child) => [keyOf(child), child]));
}

function observedKeys(request: unknown): Set<string> {
  const { children, attachments } = request as Record<string, Record<string, Record<string, Child>> | undefined>;
  return new Set(Object.values(children ?? attachments ?? {}).flatMap((named) => Object.values(named).map(keyOf)));
}

function keyOf({ apiVersion, kind, metadata }: Child): string {
  return `${kind}.${apiVersion}/${metadata?.name}`;
}
