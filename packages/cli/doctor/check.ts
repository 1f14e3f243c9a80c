/** Types of the checks of `hookbox doctor`, and functions that read objects without throwing. @module */
import type { Answer } from "../../kube/api.ts";
import type { Cluster } from "../commandcontext.ts";

/** What checks examine. */
export interface Patient {
  cluster: Cluster;
  /** URL of the router; undefined if none was given. */
  router: string | undefined;
  fetch: typeof fetch;
  now: Date;
}

/** Result of a check. */
export interface Diagnosis {
  /** `ok`; `warn`: it works, but could be better, or could not be checked; `fail`: it does not work. */
  mark: "ok" | "warn" | "fail";
  /** What was checked, in two or three words. */
  what: string;
  text: string;
  /** What to do, in one sentence. */
  remedy?: string;
}

/** Checks one or more things. */
export type Check = (patient: Patient) => Promise<Diagnosis[]>;

/** Reads from the API server; if there is no response, the status is 0. */
export async function read({ cluster }: Patient, path: string, query: Record<string, string> = {}): Promise<Answer> {
  try {
    return await cluster.api.send({ method: "GET", path, query });
  } catch (error) {
    return { status: 0, body: { message: error instanceof Error ? error.message : String(error) } };
  }
}

/** Returns the items of a list; undefined if it could not be read. */
export function itemsOf<T>({ status, body }: Answer): T[] | undefined {
  return status === 200 ? (body as { items: T[] }).items : undefined;
}
