/** Headers of all answers that the router itself sends: pages, files and refusals. @module */

/**
 * Other origins cannot read an answer with these headers, and browsers do not send its address, which may contain a
 * token, as a referrer.
 */
export const SAFE = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};
