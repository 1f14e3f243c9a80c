/** The path of a request: what clients may send for one. Pure. @module */

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/**
 * Returns path and query byte for byte as they were sent; of an absolute URL, which a proxy must understand, those alone.
 *
 * @returns undefined for what is no path
 */
export function originForm(url: string): string | undefined {
  if (url.startsWith("/") || url === "*") return url;
  if (!ABSOLUTE.test(url)) return undefined;
  const rest = url.replace(ABSOLUTE, "");
  return rest.startsWith("/") ? rest : `/${rest}`;
}
