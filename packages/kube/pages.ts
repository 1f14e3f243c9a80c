/** Reads a collection page by page, however large its objects are: no answer is longer than a process can hold. @module */
import { answerError, AnswerTooLong, type Api } from "./api.ts";

/** Some objects of a collection, and the version of it that the list shows. */
export interface Page<T> {
  items: T[];
  version: string;
}

/** Objects in one answer, where they are small. */
const MOST_OBJECTS = 100;
/**
 * The most that one answer may have: 100 of the largest objects are 150 MB, several collections are read at once, and what
 * reads them takes ten times as much for a moment.
 */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Yields the pages in order. Where an answer would be too long fewer objects are asked for, one if need be, and then more
 * again.
 *
 * @param query what narrows it down
 * @throws {Error} if the API server refuses, or gives no answer
 */
export async function* pagesOf<T>(
  api: Api,
  path: string,
  query: Record<string, string> = {},
): AsyncGenerator<Page<T>> {
  let limit = MOST_OBJECTS;
  let next: string | undefined;
  for (;;) {
    const wanted = { ...query, limit: String(limit), ...(next ? { continue: next } : {}) };
    const most = limit > 1 ? { mostBytes: MOST_BYTES } : {};
    const answer = await api.send({ method: "GET", path, query: wanted, ...most }).catch((error) => {
      if (error instanceof AnswerTooLong) return undefined;
      throw error;
    });
    if (!answer) {
      limit = Math.ceil(limit / 8);
      continue;
    }
    if (answer.status !== 200) throw answerError(`list ${path}`, answer);
    const { items, metadata } = answer.body as { items: T[]; metadata: Record<string, string | undefined> };
    yield { items, version: metadata["resourceVersion"] ?? "" };
    next = metadata["continue"];
    if (!next) return;
    limit = Math.min(2 * limit, MOST_OBJECTS);
  }
}
