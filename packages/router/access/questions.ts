/** Puts askers' questions: so many of each at a time as may turn out bad, the others as good answers come. Knows no API server. @module */
import { createDeadlines } from "../../process/deadlines.ts";
import { createBudget } from "../budget.ts";
import { type Refusal, tooMany } from "../refusal.ts";

interface QuestionOptions {
  /** Bad answers that an asker may get per second, and as many at once as it may save up. */
  perSecond: number;
  burst: number;
  /** What an asker is told who has had too many. */
  detail: string;
  /**
   * True: after bad answers have used up the budget, questions wait until it fills, and the newest is put first. Several
   * clients may share one asker, such as an address: one that asks often must not shut out the others. @default {false}
   */
  isPatient?: boolean;
}

/**
 * Puts a question, at once or when its turn comes. An asker's questions are put in order, unless `isPatient` is true.
 *
 * @param isGood whether an answer costs its asker nothing; an error costs as much as a bad answer
 * @returns the answer, or 429: bad answers have used the budget up, or too many wait already, or for too long
 * @throws what `ask` throws
 */
export type Questions = <T>(
  asker: string,
  ask: () => Promise<T>,
  isGood: (answer: T) => boolean,
) => Promise<T | Refusal>;

/** Questions of one asker that wait. */
const MOST_WAITING = 1000;
const LONGEST_WAIT_MS = 5000;
const TOO_LONG = "Too many requests wait for the API server's answer.";

interface Line {
  running: number;
  /** In order. */
  waiting: Set<Begin>;
  /** Puts the next question when the budget has filled; undefined: no question waits for that. */
  timer: NodeJS.Timeout | undefined;
}

type Begin = (refusal?: Refusal) => void;

/** Makes it. Each asker has a budget and a line of its own. */
export function createQuestions({ perSecond, burst, detail, isPatient = false }: QuestionOptions): Questions {
  const budget = createBudget(perSecond, burst);
  const deadlines = createDeadlines(LONGEST_WAIT_MS);
  const lines = new Map<string, Line>();

  function lineOf(asker: string): Line {
    const line = lines.get(asker) ?? { running: 0, waiting: new Set(), timer: undefined };
    lines.set(asker, line);
    return line;
  }

  /** Lets those begin whose turn it is. What still runs may give back what it took; once nothing does, refuses the others. */
  function serve(asker: string, line: Line): void {
    while (line.waiting.size > 0 && line.running < burst) {
      // The budget fills while slow answers are awaited.
      const seconds = budget(asker, performance.now());
      if (seconds > 0 && isPatient) return lookAgain(asker, line);
      if (seconds > 0 && line.running > 0) return;
      const begin = isPatient ? newestOf(line.waiting) : oldestOf(line.waiting);
      line.waiting.delete(begin);
      if (seconds === 0) line.running++;
      begin(seconds > 0 ? tooMany(detail, seconds) : undefined);
    }
    if (line.running > 0 || line.waiting.size > 0) return;
    clearTimeout(line.timer);
    lines.delete(asker);
  }

  function lookAgain(asker: string, line: Line): void {
    line.timer ??= setTimeout(() => {
      line.timer = undefined;
      serve(asker, line);
    }, 1000 / perSecond);
  }

  function turnOf(asker: string, line: Line): Promise<Refusal | undefined> {
    if (line.waiting.size >= MOST_WAITING) {
      if (!isPatient) return Promise.resolve(tooMany(TOO_LONG, 1));
      const oldest = oldestOf(line.waiting);
      line.waiting.delete(oldest);
      oldest(tooMany(detail, 1));
    }
    return new Promise((resolve) => {
      const end = deadlines.begin(() => {
        line.waiting.delete(begin);
        resolve(tooMany(isPatient ? detail : TOO_LONG, 1));
      });
      const begin: Begin = (refusal) => {
        end();
        resolve(refusal);
      };
      line.waiting.add(begin);
      serve(asker, line);
    });
  }

  return async (asker, ask, isGood) => {
    const line = lineOf(asker);
    const refusal = await turnOf(asker, line);
    if (refusal) return refusal;
    try {
      const answer = await ask();
      if (isGood(answer)) budget(asker, performance.now(), -1);
      return answer;
    } finally {
      line.running--;
      serve(asker, line);
    }
  };
}

function oldestOf(waiting: ReadonlySet<Begin>): Begin {
  return waiting.values().next().value as Begin;
}

function newestOf(waiting: ReadonlySet<Begin>): Begin {
  return [...waiting].at(-1) as Begin;
}
