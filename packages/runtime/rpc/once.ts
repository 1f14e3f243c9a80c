/** Ensures that repeated requests with the same id are carried out once. @module */

/**
 * Returns a function that calls `act` for the first request of an id, and returns its result for later requests of that
 * id. An id is forgotten if its `act` fails, or if there are more than `most` newer ids.
 */
export function createOnce<T>(most: number): (id: string, act: () => Promise<T>) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (id, act) => {
    const before = known.get(id);
    if (id === "" || before) return before ?? act();
    const acting = act();
    known.set(id, acting);
    acting.catch(() => known.delete(id));
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    return acting;
  };
}
