/** Work of which little is done at once, in turns by namespace. Decides nothing of it. @module */

/** Something to be done. Never fails. */
type Work = () => Promise<void>;

export interface Turns {
  /**
   * Puts work in line, in place of what waits there under its key; begins it at once if may be.
   *
   * @param isUrgent comes before what is not, within its namespace
   */
  add(namespace: string, key: string, work: Work, isUrgent?: boolean): void;
  /** Forgets what has not begun. */
  clear(): void;
}

/** What a namespace waits for, by key. */
interface Line {
  urgent: Map<string, Work>;
  calm: Map<string, Work>;
}

/** Makes the turns. @param most how much is done at once */
export function createTurns(most: number): Turns {
  /** By namespace, in order of their turns; none is empty. */
  const lines = new Map<string, Line>();
  let running = 0;

  function take(): Work | undefined {
    for (const [namespace, line] of lines) {
      const works = line.urgent.size > 0 ? line.urgent : line.calm;
      lines.delete(namespace);
      for (const [key, work] of works) {
        works.delete(key);
        // The next one's turn comes first.
        if (line.urgent.size + line.calm.size > 0) lines.set(namespace, line);
        return work;
      }
    }
    return undefined;
  }

  function next(): void {
    while (running < most) {
      const work = take();
      if (!work) return;
      running++;
      void work().then(() => {
        running--;
        next();
      });
    }
  }

  return {
    add(namespace, key, work, isUrgent = false) {
      const line = lines.get(namespace) ?? { urgent: new Map<string, Work>(), calm: new Map<string, Work>() };
      if (isUrgent) line.calm.delete(key);
      const works = isUrgent || line.urgent.has(key) ? line.urgent : line.calm;
      works.set(key, work);
      lines.set(namespace, line);
      next();
    },
    clear: () => lines.clear(),
  };
}
