/** The part of the command line that says who may. Reads nothing but its arguments. @module */
import type { BrowserOptions } from "../access/credentials.ts";
import { choiceOf, durationOf, listOf, type Values, wholeNumber } from "./flags.ts";

/** How it is decided who may reach a sandbox. */
export type AuthzOptions =
  | { mode: "allow-all" }
  | { mode: "tokenreview"; ttlMs: number; cacheSize: number; audiences: string[]; requiresToken: boolean }
  /** At least one file: secrets check tokens of version 1, public keys check tokens of version 2. */
  | { mode: "scoped-token"; secretFile?: string | undefined; publicKeysFile?: string | undefined };

const MODES = ["tokenreview", "scoped-token", "allow-all"] as const;
const COOKIE_NAME = /^[A-Za-z0-9_.-]+$/;

/** Reads the mode: tokenreview unless another one is named. @throws {RangeError} if something is missing */
export function authzOf(values: Values): AuthzOptions {
  const mode = choiceOf("authz-mode", values["authz-mode"] ?? "tokenreview", MODES);
  if (mode === "allow-all") return { mode };
  if (mode === "tokenreview") {
    return {
      mode,
      ttlMs: durationOf("authz-tokenreview-ttl", values["authz-tokenreview-ttl"]),
      cacheSize: wholeNumber("authz-tokenreview-cache-size", values["authz-tokenreview-cache-size"], 1, 1_000_000),
      audiences: listOf(values["authz-tokenreview-audiences"]),
      requiresToken: values["authz-tokenreview-require-token"],
    };
  }
  const secretFile = values["authz-scoped-token-secret-file"] || undefined;
  const publicKeysFile = values["authz-scoped-token-public-keys-file"] || undefined;
  if (!secretFile && !publicKeysFile) {
    throw new RangeError(
      "Cannot check scoped tokens: --authz-scoped-token-secret-file or --authz-scoped-token-public-keys-file is missing",
    );
  }
  return { mode, secretFile, publicKeysFile };
}

/** Reads how browsers may carry a token. @throws {RangeError} if that makes no sense */
export function browserOf(values: Values): BrowserOptions {
  const cookieName = values["authz-cookie-name"] || undefined;
  const queryParam = values["authz-cookie-query-param"] || undefined;
  for (const name of [cookieName, queryParam]) {
    if (name !== undefined && !COOKIE_NAME.test(name)) {
      throw new RangeError(`Cannot carry a token in "${name}": bad name`);
    }
  }
  if (queryParam !== undefined && cookieName === undefined) {
    throw new RangeError("Cannot take tokens from addresses: --authz-cookie-query-param needs --authz-cookie-name");
  }
  const isUsed = cookieName !== undefined || queryParam !== undefined;
  if (isUsed && values["authz-mode"] === "allow-all") {
    throw new RangeError("Cannot carry tokens in cookies: --authz-mode allow-all looks at none");
  }
  if (isUsed && values["path-routing-prefix"] === "" && values.domain === "") {
    throw new RangeError("Cannot carry tokens in cookies: it needs --path-routing-prefix or --domain");
  }
  const sameSite = values["authz-cookie-samesite"].toLowerCase();
  return {
    cookieName,
    queryParam,
    sameSite: choiceOf("authz-cookie-samesite", sameSite.charAt(0).toUpperCase() + sameSite.slice(1), SAME_SITE),
    isSecure: !values["authz-cookie-insecure"],
    allowedOrigins: listOf(values["authz-cookie-allowed-origins"]),
  };
}

const SAME_SITE = ["Lax", "Strict", "None"] as const;
