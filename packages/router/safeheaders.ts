/** Headers of every answer of the router's own: pages, files, refusals. @module */

/** A page of another origin reads none of them, and no address that carries a token goes on to others. */
export const SAFE = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};
