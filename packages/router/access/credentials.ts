/** Reads a request's token, removes it from what the sandbox gets, and makes the cookie for browsers. Pure. @module */
import type { IncomingMessage } from "node:http";
import type { Route } from "../destination.ts";

/** How a browser sends a token, as pages cannot set headers for a navigation; undefined: this way is off. */
export interface BrowserOptions {
  authzCookieName: string | undefined;
  authzCookieQueryParam: string | undefined;
  authzCookieSamesite: "Lax" | "Strict" | "None";
  /** True: cookies have no Secure attribute, so that they work over plain HTTP. */
  authzCookieInsecure: boolean;
  /** Origins whose pages may use the cookie, in addition to the sandbox's own origin. */
  authzCookieAllowedOrigins: readonly string[];
}

/** A request's token, where it was, and the parts of the request without it. */
export interface Credentials {
  token: string | undefined;
  source: "header" | "query" | "cookie" | undefined;
  /** Path and query for the sandbox, without the token. */
  path: string;
  /** Cookie header for the sandbox, without the token; undefined: none. Absent: the header passes as it came. */
  cookie?: string | undefined;
  /** Referer header for the sandbox, without the token. Absent: the header passes as it came. */
  referer?: string;
}

const BEARER = /^Bearer +([!-~]+)$/i;

/** Reads the token from Authorization, else from the query, else from the cookie. The sandbox gets none of them. */
export function credentialsOf({ headers }: IncomingMessage, { path }: Route, browser: BrowserOptions): Credentials {
  const [, bearer] = BEARER.exec(headers.authorization ?? "") ?? [];
  const query = browser.authzCookieQueryParam === undefined
    ? undefined
    : withoutParameter(path, browser.authzCookieQueryParam);
  const cookies = browser.authzCookieName === undefined
    ? undefined
    : withoutCookie(headers.cookie, browser.authzCookieName);
  const referer = browser.authzCookieQueryParam === undefined
    ? undefined
    : withoutParameter(headers.referer ?? "", browser.authzCookieQueryParam);
  const rest = {
    path: query?.path ?? path,
    ...(cookies?.value === undefined ? {} : { cookie: cookies.rest }),
    ...(referer?.value === undefined ? {} : { referer: referer.path }),
  };
  if (bearer !== undefined) return { token: bearer, source: "header", ...rest };
  if (query?.value !== undefined) return { token: query.value, source: "query", ...rest };
  if (cookies?.value !== undefined) return { token: cookies.value, source: "cookie", ...rest };
  return { token: undefined, source: undefined, ...rest };
}

/** Removes a parameter from the query and keeps everything else byte for byte. */
function withoutParameter(path: string, name: string): { path: string; value: string | undefined } {
  const mark = path.indexOf("?");
  if (mark < 0) return { path, value: undefined };
  const parts = path.slice(mark + 1).split("&");
  const isOurs = (part: string) => part.startsWith(`${name}=`);
  const value = parts.find(isOurs)?.slice(name.length + 1);
  if (value === undefined) return { path, value };
  const rest = parts.filter((part) => !isOurs(part)).join("&");
  return { path: path.slice(0, mark) + (rest && `?${rest}`), value };
}

function withoutCookie(
  header: string | undefined,
  name: string,
): { rest: string | undefined; value: string | undefined } {
  const cookies = (header ?? "").split(";").map((cookie) => cookie.trim()).filter(Boolean);
  const isOurs = (cookie: string) => cookie.startsWith(`${name}=`);
  const rest = cookies.filter((cookie) => !isOurs(cookie)).join("; ");
  return { rest: rest || undefined, value: cookies.find(isOurs)?.slice(name.length + 1) };
}

/** Returns a Set-Cookie header with the token. If the path names the sandbox, the cookie is for this sandbox only. */
export function cookieOf(
  token: string,
  { base }: Route,
  { authzCookieName = "", authzCookieSamesite, authzCookieInsecure }: BrowserOptions,
  seconds: number | undefined,
): string {
  const age = seconds === undefined ? "" : `; Max-Age=${Math.max(0, Math.floor(seconds))}`;
  const rest = `SameSite=${authzCookieSamesite}${age}${authzCookieInsecure ? "" : "; Secure"}`;
  return `${authzCookieName}=${token}; Path=${base}/; HttpOnly; ${rest}`;
}
