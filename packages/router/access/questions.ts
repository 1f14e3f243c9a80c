/** Limits how many unsuccessful reviews each client or user can cause at the API server. @module */
import { createDeadlines } from "../../process/deadlines.ts";
import { createBudget } from "../budget.ts";
import { type Refusal, tooMany } from "../refusal.ts";

interface QuestionOptions {
  /** Unsuccessful reviews per second for each requester; `burst` is how many may happen at once. */
  perSecond: number;
  burst: number;
  /** Text of the refusal if the budget is used up. */
  detail: string;
  /**
   * What happens when unsuccessful reviews have used up the budget. True: reviews wait until it fills again, and the
   * newest goes first. Several clients may share one requester, such as an address: one client must not block the
   * others. False: reviews are refused. @default {false}
   */
  isPatient?: boolean;
}

/**
 * Asks the API server, at once or when it is this question's turn. Questions of one requester are asked in order,
 * unless `isPatient` is true.
 *
 * @param requester the client or user whose budget is used
 * @param isGood true: the answer uses no budget; an error uses as much as a bad answer
 * @returns the answer, or 429: the budget is used up, too many questions wait, or this one has waited too long
 * @throws what `ask` throws
 */
export type Questions = <T>(
  requester: string,
  ask: () => Promise<T>,
  isGood: (answer: T) => boolean,
) => Promise<T | Refusal>;

/** Most waiting questions of one requester. */
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

/** Makes the review queue. Each requester has its own budget and its own queue. */
export function createQuestions({ perSecond, burst, detail, isPatient = false }: QuestionOptions): Questions {
  const budget = createBudget(perSecond, burst);
  const deadlines = createDeadlines(LONGEST_WAIT_MS);
  const lines = new Map<string, Line>();

  function lineOf(requester: string): Line {
    const line = lines.get(requester) ?? { running: 0, waiting: new Set(), timer: undefined };
    lines.set(requester, line);
    return line;
  }

  /**
   * Starts waiting questions while the budget allows. Running ones may return their token, so waiting ones are refused
   * only when none runs.
   */
  function serve(requester: string, line: Line): void {
    while (line.waiting.size > 0 && line.running < burst) {
      // The budget also fills while slow answers are pending.
      const seconds = budget(requester, performance.now());
      if (seconds > 0 && isPatient) return lookAgain(requester, line);
      if (seconds > 0 && line.running > 0) return;
      const begin = isPatient ? newestOf(line.waiting) : oldestOf(line.waiting);
      line.waiting.delete(begin);
      if (seconds === 0) line.running++;
      begin(seconds > 0 ? tooMany(detail, seconds) : undefined);
    }
    if (line.running > 0 || line.waiting.size > 0) return;
    clearTimeout(line.timer);
    lines.delete(requester);
  }

  function lookAgain(requester: string, line: Line): void {
    line.timer ??= setTimeout(() => {
      line.timer = undefined;
      serve(requester, line);
    }, 1000 / perSecond);
  }

  function turnOf(requester: string, line: Line): Promise<Refusal | undefined> {
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
      serve(requester, line);
    });
  }

  return async (requester, ask, isGood) => {
    const line = lineOf(requester);
    const refusal = await turnOf(requester, line);
    if (refusal) return refusal;
    try {
      const answer = await ask();
      if (isGood(answer)) budget(requester, performance.now(), -1);
      return answer;
    } finally {
      line.running--;
      serve(requester, line);
    }
  };
}

function oldestOf(waiting: ReadonlySet<Begin>): Begin {
  return waiting.values().next().value as Begin;
}

function newestOf(waiting: ReadonlySet<Begin>): Begin {
  return [...waiting].at(-1) as Begin;
}
