/** Command-line options of the router for authentication, authorization and limits per client. @module */
import {
  choice,
  DURATION,
  flag,
  type FlagType,
  LIST,
  SWITCH,
  TEXT,
  type Values,
  wholeNumber,
} from "../../process/flags.ts";
import { ALLOWED_HOSTS } from "../../process/sharedflags.ts";
import { createAddressOf } from "./clientaddress.ts";
import type { BrowserOptions } from "./credentials.ts";

/** How the router decides who may reach a sandbox. */
export type AuthzOptions =
  | { mode: "allow-all" }
  | { mode: "tokenreview" } & TokenReviewValues
  /** At least one file is set: secrets check tokens of version 1, public keys check tokens of version 2. */
  | { mode: "scoped-token"; secretFile?: string | undefined; publicKeysFile?: string | undefined };

/** Reads the name of a cookie or a query parameter; undefined if the text is empty. */
const TOKEN_NAME: FlagType<string | undefined> = {
  ...{ name: "name", placeholder: "C", allowed: "a name of letters, digits, dots, - and _" },
  read: (text, refuse) => text === "" ? undefined : /^[A-Za-z0-9_.-]+$/.test(text) ? text : refuse(),
};

/** Reads the SameSite attribute of a cookie, in upper or lower case. */
const SAME_SITE: FlagType<BrowserOptions["authzCookieSamesite"]> = {
  ...{ name: "Lax, Strict or None", placeholder: "S", allowed: "Lax, Strict or None" },
  read(text, refuse) {
    return (["Lax", "Strict", "None"] as const).find((each) => each.toLowerCase() === text.toLowerCase()) ?? refuse();
  },
};

/** Reads a list of addresses and subnets such as `10.0.0.0/8`. */
const PROXIES: FlagType<string[]> = {
  ...{ ...LIST, allowed: "addresses or subnets such as 10.0.0.0/8, with commas between them" },
  read(text, refuse) {
    const proxies = LIST.read(text, refuse);
    // Throws an error that names the first invalid address.
    createAddressOf(proxies);
    return proxies;
  },
};

const since = "0.1.0";

export const ACCESS_FLAGS = {
  "authz-mode": flag(choice(["tokenreview", "scoped-token", "allow-all"], "MODE"), {
    help:
      'tokenreview: the API server accepts the token, and RBAC lets its user "connect" to this Sandbox; scoped-token: ' +
      "the token is signed for this Sandbox; allow-all: no check",
    ...{ since, default: "tokenreview" },
  }),
  "authz-tokenreview-ttl": flag(DURATION, {
    help: "how long to cache an answer of the API server",
    since,
    default: "30s",
  }),
  "authz-tokenreview-cache-size": flag(wholeNumber(1, 1_000_000), {
    help: "most answers of the API server in the cache",
    ...{ since, default: "2048" },
  }),
  "authz-tokenreview-audiences": flag(LIST, {
    help: "audiences that tokens must have",
    ...{ since, otherwise: "the API server", default: "" },
  }),
  "authz-tokenreview-require-token": flag(SWITCH, { help: "let clients without a token in", since, default: "true" }),
  "authz-recheck-interval": flag(DURATION, {
    help:
      "how often to check again whether the client of an open request or stream may still connect; if not, the request " +
      "ends. 0: it ends only when the token expires",
    ...{ since: "0.3.0", default: "30s" },
  }),
  "trust-port-forward": flag(SWITCH, {
    help: "clients that connect through kubectl port-forward need a token, too. Without this option, who may create " +
      "pods/portforward in the router's namespace can reach every sandbox, unless the router's Pod has a second container " +
      "or the network of its node",
    ...{ since: "0.3.0", default: "true" },
  }),
  "authz-scoped-token-secret-file": flag(TEXT, {
    help: "file with secrets of 32 bytes or more, one per line; the first one signs",
    ...{ since, placeholder: "F" },
  }),
  "authz-scoped-token-public-keys-file": flag(TEXT, {
    help:
      "Ed25519 public keys for tokens of version 2: a JSON Web Key Set, or a folder with a file <key ID>.pem for each; " +
      "read again every 30 s",
    ...{ since: "0.3.0", placeholder: "F" },
  }),
  "authz-cookie-query-param": flag(TOKEN_NAME, {
    help: "browsers may send the token as ?Q=…; the router then sets the cookie",
    ...{ since, placeholder: "Q", default: "", needs: ["authz-cookie-name"] },
  }),
  "authz-cookie-name": flag(TOKEN_NAME, { help: "browsers may send the token in the cookie C", since, default: "" }),
  "authz-cookie-samesite": flag(SAME_SITE, { help: "SameSite of the cookie", since, default: "Lax" }),
  "authz-cookie-insecure": flag(SWITCH, {
    help: "set cookies without Secure, for HTTP without TLS",
    ...{ since, default: "false" },
  }),
  "authz-cookie-allowed-origins": flag(LIST, {
    help: "origins whose pages may use the cookie, in addition to the sandbox's own origin",
    ...{ since, placeholder: "O", default: "" },
  }),
  "allowed-hosts": ALLOWED_HOSTS,
  "client-requests-per-second": flag(wholeNumber(), {
    help: "most requests of one client per second, with bursts of twice as many; 0: no limit",
    ...{ since, default: "0" },
  }),
  "client-max-concurrent": flag(wholeNumber(), {
    help: "most requests and open streams of one client at the same time; 0: no limit",
    ...{ since, default: "0" },
  }),
  "trusted-proxies": flag(PROXIES, {
    help: "addresses or subnets of proxies whose X-Forwarded-For names the client",
    ...{ since, default: "" },
  }),
  "allow-loopback-pod-ip": flag(SWITCH, {
    help: "allow Pods with loopback addresses, for tests on one machine",
    ...{ since, default: "false" },
  }),
};

type AccessValues = Values<typeof ACCESS_FLAGS>;
type TokenReviewValues = Pick<
  AccessValues,
  | "authzTokenreviewTtl"
  | "authzTokenreviewCacheSize"
  | "authzTokenreviewAudiences"
  | "authzTokenreviewRequireToken"
>;

/** Returns the authorization mode with its settings. @throws {RangeError} if a required option is missing */
export function authzOf(values: AccessValues): AuthzOptions {
  const mode = values.authzMode;
  if (mode === "allow-all") return { mode };
  if (mode === "tokenreview") {
    const { authzTokenreviewTtl, authzTokenreviewCacheSize } = values;
    const { authzTokenreviewAudiences, authzTokenreviewRequireToken } = values;
    return {
      ...{ mode, authzTokenreviewTtl, authzTokenreviewCacheSize },
      ...{ authzTokenreviewAudiences, authzTokenreviewRequireToken },
    };
  }
  const secretFile = values.authzScopedTokenSecretFile || undefined;
  const publicKeysFile = values.authzScopedTokenPublicKeysFile || undefined;
  if (secretFile || publicKeysFile) return { mode, secretFile, publicKeysFile };
  throw new RangeError(
    "Cannot check scoped tokens: --authz-scoped-token-secret-file or --authz-scoped-token-public-keys-file is missing",
  );
}

/** Returns how browsers may send a token. @throws {RangeError} if the options contradict each other */
export function browserOf(
  values: AccessValues & { pathRoutingPrefix: string | undefined; domain: string | undefined },
): BrowserOptions {
  const { authzCookieName, authzCookieQueryParam } = values;
  const { authzCookieSamesite, authzCookieInsecure, authzCookieAllowedOrigins } = values;
  if (authzCookieName !== undefined && values.authzMode === "allow-all") {
    throw new RangeError("Cannot carry tokens in cookies: --authz-mode allow-all looks at none");
  }
  if (authzCookieName !== undefined && values.pathRoutingPrefix === undefined && values.domain === undefined) {
    throw new RangeError("Cannot carry tokens in cookies: it needs --path-routing-prefix or --domain");
  }
  return {
    ...{ authzCookieName, authzCookieQueryParam },
    ...{ authzCookieSamesite, authzCookieInsecure, authzCookieAllowedOrigins },
  };
}
