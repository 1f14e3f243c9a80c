/** Lists a collection page by page, with pages small enough for the memory, however large the objects are. @module */
import { answerError, AnswerTooLong, type Api } from "./api.ts";

/** Some objects of a collection, and the resourceVersion of the list. */
export interface Page<T> {
  items: T[];
  version: string;
}

/** Objects per page, if they are small. */
const MOST_OBJECTS = 100;
/**
 * Largest answer: 100 of the largest objects are 150 MB, several collections are read at the same time, and parsing
 * briefly takes ten times as much.
 */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Yields the pages in order. If an answer would be too long, the next request asks for fewer objects, down to one, and
 * later for more again.
 *
 * @param query parameters of the list, such as a label selector
 * @throws {Error} if the API server refuses, or does not answer
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
