/** Limits how many unsuccessful reviews each client or user can cause at the API server. @module */
import { createDeadlines } from "../../process/deadlines.ts";
import { createBudget } from "../budget.ts";
import { type Refusal, tooMany } from "../refusal.ts";

interface QuestionOptions {
  /** Unsuccessful reviews per second for each asker; `burst` is how many may happen at once. */
  perSecond: number;
  burst: number;
  /** Text of the refusal if the budget is used up. */
  detail: string;
  /**
   * What happens when unsuccessful reviews have used up the budget. True: reviews wait until it fills again, and the
   * newest goes first. Several clients may share one asker, such as an address: one client must not block the others.
   * False: reviews are refused. @default {false}
   */
  isPatient?: boolean;
}

/**
 * Asks the API server, at once or when it is this question's turn. Questions of one asker are asked in order, unless
 * `isPatient` is true.
 *
 * @param asker the client or user whose budget is used
 * @param isGood true: the answer uses no budget; an error uses as much as a bad answer
 * @returns the answer, or 429: the budget is used up, too many questions wait, or this one has waited too long
 * @throws what `ask` throws
 */
export type Questions = <T>(
  asker: string,
  ask: () => Promise<T>,
  isGood: (answer: T) => boolean,
) => Promise<T | Refusal>;

/** Most waiting questions of one asker. */
const MOST_WAITING = 1000;
const LONGEST_WAIT_MS = 5000;
const TOO_LONG = "Too many requests wait for the API server's answer.";

interface Line {
  running: number;
  /** In order of arrival. */
  waiting: Set<Begin>;
  /** Fires when the budget has filled by one token; undefined: no question waits for that. */
  timer: NodeJS.Timeout | undefined;
}

type Begin = (refusal?: Refusal) => void;

/** Makes the review queue. Each asker has its own budget and its own queue. */
export function createQuestions({ perSecond, burst, detail, isPatient = false }: QuestionOptions): Questions {
  const budget = createBudget(perSecond, burst);
  const deadlines = createDeadlines(LONGEST_WAIT_MS);
  const lines = new Map<string, Line>();

  function lineOf(asker: string): Line {
    const line = lines.get(asker) ?? { running: 0, waiting: new Set(), timer: undefined };
    lines.set(asker, line);
    return line;
  }

  /**
   * Starts waiting questions while the budget allows. Running ones may return their token, so waiting ones are refused
   * only when none runs.
   */
  function serve(asker: string, line: Line): void {
    while (line.waiting.size > 0 && line.running < burst) {
      // The budget also fills while slow answers are pending.
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
