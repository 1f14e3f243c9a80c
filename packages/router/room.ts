/** Limits how many requests are open at a time, in all and for each namespace. @module */
import type { Refusal } from "./refusal.ts";

/** A function that frees the place again, or the refusal if no place is free. */
type Place = (() => void) | Refusal;

/** Takes a place for a request to a sandbox of `namespace`. */
export type Room = (namespace: string) => Place;

/**
 * Takes a place from each of `takers` in turn, and frees the places when `client` closes.
 *
 * @param takers return undefined if this limit does not apply
 * @returns the first refusal; undefined: all places were taken
 */
export function takePlaces(
  client: { once(event: "close", listener: () => void): unknown },
  takers: (() => Place | undefined)[],
): Refusal | undefined {
  for (const take of takers) {
    const place = take();
    if (typeof place === "object") return place;
    if (place) client.once("close", place);
  }
  return undefined;
}

/**
 * Makes `most` places. A namespace gets another place only while it has fewer places than are free, so that one
 * namespace cannot use up all of them.
 *
 * @param whatFor what the requests with a place do; part of the refusal's text
 */
export function createRoom(most: number, whatFor: string): Room {
  let taken = 0;
  const takenBy = new Map<string, number>();
  return (namespace) => {
    const own = takenBy.get(namespace) ?? 0;
    if (own >= most - taken) {
      const detail = `${own} requests ${whatFor} of namespace ${namespace} already, ${taken} in all.`;
      return { status: 503, detail, headers: { "Retry-After": "1" } };
    }
    taken++;
    takenBy.set(namespace, own + 1);
    return () => {
      taken--;
      const left = (takenBy.get(namespace) ?? 0) - 1;
      if (left > 0) takenBy.set(namespace, left);
      else takenBy.delete(namespace);
    };
  };
}
