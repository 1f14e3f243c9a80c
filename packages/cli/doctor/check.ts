/** What a check of `hookbox doctor` is given, and what it says. Types, and reading that never throws. @module */
import type { Answer } from "../../kube/api.ts";
import type { Cluster } from "../commandcontext.ts";

/** What checks look at. */
export interface Patient {
  cluster: Cluster;
  /** URL of the router; undefined: none is named. */
  router: string | undefined;
  fetch: typeof fetch;
  now: Date;
}

/** What a check has found. */
export interface Diagnosis {
  /** `ok`; `warn`: works, but not as well as it could, or could not be seen; `fail`: does not work. */
  mark: "ok" | "warn" | "fail";
  /** What was looked at, two or three words. */
  what: string;
  text: string;
  /** What to do, one sentence. */
  remedy?: string;
}

/** Looks at one or some things. */
export type Check = (patient: Patient) => Promise<Diagnosis[]>;

/** Reads from the API server; without an answer the status is 0. */
export async function read({ cluster }: Patient, path: string, query: Record<string, string> = {}): Promise<Answer> {
  try {
    return await cluster.api.send({ method: "GET", path, query });
  } catch (error) {
    return { status: 0, body: { message: error instanceof Error ? error.message : String(error) } };
  }
}

/** Returns the items of a list; undefined if it cannot be read. */
export function itemsOf<T>({ status, body }: Answer): T[] | undefined {
  return status === 200 ? (body as { items: T[] }).items : undefined;
}
