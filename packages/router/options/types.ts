/** Types of values that only the router's options have. Pure. @module */
import { type FlagType, LIST, PORT, TEXT } from "../../process/flagtypes.ts";
import { createAddressOf } from "../access/clientaddress.ts";
import type { BrowserOptions } from "../access/credentials.ts";
import { isPathPrefix } from "../destination.ts";

/** An address to listen on; port 0: a free one. */
export interface Bind {
  /** Empty: the process decides. */
  host: string;
  port: number;
}

/** `host:port`, `[v6]:port` or `:port`; false, for none: an empty text or `0`. */
export const ADDRESS: FlagType<Bind | false> = {
  ...{ name: "address", placeholder: "H:P", allowed: "host:port or :port, or 0 for none" },
  read(text, refuse) {
    if (text === "" || text === "0") return false;
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
    return port === "" ? refuse() : { host: host.replace(/^\[|\]$/g, ""), port: PORT.read(port, refuse) };
  },
};

/** The same for a port that has to be. */
export const NEEDED_ADDRESS: FlagType<Bind> = {
  ...{ ...ADDRESS, allowed: "host:port or :port" },
  read: (text, refuse) => ADDRESS.read(text, refuse) || refuse(),
};

/** A path like `/sandboxes`; undefined for an empty text. */
export const PATH_PREFIX: FlagType<string | undefined> = {
  ...{ name: "path", placeholder: "P", allowed: "a path such as /sandboxes" },
  read: (text, refuse) => text === "" ? undefined : isPathPrefix(text) ? text : refuse(),
};

/** A DNS domain, in lower case and without dots at its ends; undefined for an empty text. */
export const DOMAIN: FlagType<string | undefined> = {
  ...{ ...TEXT, name: "domain", placeholder: "D" },
  read: (text) => text.toLowerCase().replace(/^\.|\.$/g, "") || undefined,
};

/** The name of a cookie or of a parameter of a query; undefined for an empty text. */
export const TOKEN_NAME: FlagType<string | undefined> = {
  ...{ name: "name", placeholder: "C", allowed: "a name of letters, digits, dots, - and _" },
  read: (text, refuse) => text === "" ? undefined : /^[A-Za-z0-9_.-]+$/.test(text) ? text : refuse(),
};

/** Whether a cookie goes with requests of other sites, in any case of letters. */
export const SAME_SITE: FlagType<BrowserOptions["authzCookieSamesite"]> = {
  ...{ name: "Lax, Strict or None", placeholder: "S", allowed: "Lax, Strict or None" },
  read(text, refuse) {
    return (["Lax", "Strict", "None"] as const).find((each) => each.toLowerCase() === text.toLowerCase()) ?? refuse();
  },
};

/** Addresses and subnets such as `10.0.0.0/8`. */
export const PROXIES: FlagType<string[]> = {
  ...{ ...LIST, allowed: "addresses or subnets such as 10.0.0.0/8, with commas between them" },
  read(text, refuse) {
    const proxies = LIST.read(text, refuse);
    // It throws for a wrong one, and names it.
    createAddressOf(proxies);
    return proxies;
  },
};
