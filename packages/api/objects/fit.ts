/**
 * Makes text of others fit the fields of our statuses. The API server checks those by pattern and length, and refuses the
 * whole status for one of them; Pods, schedulers and webhooks are held to no such rule. Pure.
 * @module
 */

/** What metav1.Condition has for `reason`, beside its length. */
export const REASON_PATTERN = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
export const LONGEST_REASON = 1024;
/** In characters; JavaScript counts some of them twice. */
export const LONGEST_MESSAGE = 32_768;

/** Cuts text to so many UTF-16 units, the last an ellipsis; half a character becomes U+FFFD, as in the API server. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed();
  // A character that is cut in two is left out.
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/**
 * Makes a reason of a word: `queue-full` becomes `QueueFull`.
 *
 * @param fallback for a word of which nothing is left
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
