/** Starts once what is asked for more than once; it must not know what is started. @module */

/**
 * Returns a function that calls `act` for the first request of an id, and answers the others with what came of that. An
 * id whose act has failed is free again, and so are the oldest beyond `most`.
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
