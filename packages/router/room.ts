/** Places for requests: those of one namespace are never more than are left for all others. @module */
import type { Refusal } from "./refusal.ts";

/** Takes a place; returns what gives it back, or why there is none. */
export type Room = (namespace: string) => (() => void) | Refusal;

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
