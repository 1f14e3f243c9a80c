/**
 * Makes text from other components fit into hookbox's statuses. The API server checks the pattern and length of each
 * condition, and refuses the whole status if one does not match. Pods, schedulers and webhooks have no such rules.
 * @module
 */

/** The pattern of `reason` in metav1.Condition. */
export const REASON_PATTERN = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
export const LONGEST_REASON = 1024;
/** In Unicode characters. JavaScript's `length` counts some characters twice. */
export const LONGEST_MESSAGE = 32_768;

/** Cuts text to `most` UTF-16 units, with an ellipsis at the end. A lone surrogate becomes U+FFFD, as in the API server. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed();
  // If the cut is in the middle of a character, its first half is left out.
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/**
 * Converts a word to a valid reason: `queue-full` becomes `QueueFull`.
 *
 * @param fallback the result if the word has no valid character
 */
export function fitReason(word: string, fallback: string): string {
  if (word.length <= LONGEST_REASON && REASON_PATTERN.test(word)) return word;
  const joined = word.slice(0, LONGEST_REASON * 2)
    .replace(/[^A-Za-z0-9_,:]+(.?)/g, (_, next: string) => next.toUpperCase())
    .replace(/^[^A-Za-z]+/, "")
    .slice(0, LONGEST_REASON)
    .replace(/[,:]+$/, "");
  return REASON_PATTERN.test(joined) ? joined[0]?.toUpperCase() + joined.slice(1) : fallback;
}
