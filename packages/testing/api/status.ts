/** The Status objects by which the API server refuses, and says that something is done. Pure. @module */
import { groupOf, type Resource, StoreError } from "../engine/store.ts";
import type { Answer } from "../../kube/api.ts";

/** What a request was about, as far as its path tells. */
export interface About {
  resource?: Resource | undefined;
  name?: string | undefined;
}

/** Answers with what a store refused. @throws what is no refusal */
export function refusal(error: unknown, about: About): Answer {
  if (!(error instanceof StoreError)) throw error;
  const { status, reason, message, causes } = error;
  return {
    status,
    body: statusObject({ status: "Failure", message, reason, details: details(about, causes), code: status }),
  };
}

/** Answers for a path that is not served: no Status, as the API server gives none. */
export function notServed(): Answer {
  return { status: 404, body: { message: "404 page not found" } };
}

/** The object of an `ERROR` event, and of answers that are no refusal of a store. */
export function failure(code: number, reason: string, message: string): object {
  return statusObject({ status: "Failure", message, reason, code });
}

/** Says that a deletion is done with. */
export function success(about: About, uid: string | undefined): object {
  return statusObject({ status: "Success", details: { ...details(about, []), uid } });
}

function statusObject(fields: object): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, ...fields };
}

function details({ resource, name }: About, causes: StoreError["causes"]): object {
  const group = resource && groupOf(resource.apiVersion);
  return {
    ...(name && { name }),
    ...(group && { group }),
    ...(resource && { kind: resource.plural }),
    ...(causes.length > 0 && { causes }),
  };
}
