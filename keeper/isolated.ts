/** A sink whose failures stay its own: what else hangs on the same watch goes on. Decides nothing. @module */
import { errorFields, type Log } from "../lib/log.ts";
import type { Sink } from "../kube/watch.ts";

/** Wraps a sink. @param name for the log */
export function isolated<T>(name: string, sink: Sink<T>, log: Log): Sink<T> {
  const attempt = (step: () => void) => {
    try {
      step();
    } catch (error) {
      log("error", `Cannot take note for ${name}`, errorFields(error));
    }
  };
  return {
    listing: () => attempt(() => sink.listing?.()),
    observe: (object) => attempt(() => sink.observe(object)),
    gone: (uid) => attempt(() => sink.gone(uid)),
    listed: (uids) => attempt(() => sink.listed(uids)),
  };
}
