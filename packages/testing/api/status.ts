/** Makes the Status objects with which the API server reports errors and deletions. Pure. @module */
import { groupOf, type Resource, StoreError } from "../store/store.ts";
import type { Answer } from "../../kube/api.ts";

/** The object of a request, as far as its path names it. */
export interface About {
  resource?: Resource | undefined;
  name?: string | undefined;
}

/** Makes the answer for an error of the store. @throws `error` if it is not a StoreError */
export function refusal(error: unknown, about: About): Answer {
  if (!(error instanceof StoreError)) throw error;
  const { status, reason, message, causes } = error;
  return {
    status,
    body: statusObject({ status: "Failure", message, reason, details: details(about, causes), code: status }),
  };
}

/** Makes the answer for a path that is not served: like the API server, without a Status. */
export function notServed(): Answer {
  return { status: 404, body: { message: "404 page not found" } };
}

/** Makes the Status of an `ERROR` event, or of an error that does not come from a store. */
export function failure(code: number, reason: string, message: string): object {
  return statusObject({ status: "Failure", message, reason, code });
}

/** Makes the Status of a completed deletion. */
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
