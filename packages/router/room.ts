/** Places for requests: those of one namespace are never more than are left for all others. @module */
import type { Refusal } from "./refusal.ts";

/** What gives a place back, or why there is none. */
type Place = (() => void) | Refusal;

/** Takes a place for a request to a sandbox of that namespace. */
export type Room = (namespace: string) => Place;

/**
 * Takes one place after the other, and gives them back when the client is done with. Returns why there is none.
 *
 * @param takers undefined: none is needed
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

/** Makes so many places. @param whatFor what those do that have one, for the refusal */
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
