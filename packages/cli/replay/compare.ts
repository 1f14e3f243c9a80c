/** Compares two responses to one request by their effect when Metacontroller applies them. @module */
import { fieldChanges } from "./values.ts";

/** A response: its HTTP status and its JSON value. */
export interface Answered {
  status: number;
  body: unknown;
}

/**
 * One difference of the second response.
 *
 * | effect | meaning |
 * |---|---|
 * | `answers` | another HTTP status, such as an exception (500) or a refusal of the guard (429) |
 * | `deletes` | an existing child is deleted; the first response wanted it |
 * | `keeps` | an existing child stays; the first response left it out |
 * | `creates` | a new child is created |
 * | `omits` | a new child is not created |
 * | `changes` | a field of a child, or of the response itself, has another value |
 */
export interface Change {
  effect: "answers" | "deletes" | "keeps" | "creates" | "omits" | "changes";
  /** Kind and name of the child. Absent if the change concerns the parent, or the whole response. */
  child?: { kind: string; name: string };
  /** Empty if the change concerns a whole child or the HTTP status. */
  path: string;
  before: unknown;
  after: unknown;
}

type Child = { apiVersion?: string; kind?: string; metadata?: { name?: string } };
type Body = Record<string, unknown> & { children?: Child[]; attachments?: Child[] };

/**
 * Compares two responses: children by kind and name, conditions by type, `resyncAfterSeconds`, labels and annotations,
 * and the related objects of customize. The order of children has no meaning. If a response is an error, only the
 * status is compared.
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

/** Returns the status, and the error message of a response. */
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
