/** Headers of all answers that the router sends itself: pages, files, refusals. @module */

/** They keep pages of other origins from reading these answers, and browsers from passing an address with a token on. */
export const SAFE = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};
