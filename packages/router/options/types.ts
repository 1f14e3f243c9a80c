/** Types of values that only the router's options have. @module */
import { type FlagType, LIST, PORT, TEXT } from "../../process/flagtypes.ts";
import { createAddressOf } from "../access/clientaddress.ts";
import type { BrowserOptions } from "../access/credentials.ts";
import { isPathPrefix } from "../destination.ts";

/** An address to listen on; port 0 means any free port. */
export interface Bind {
  /** Empty: 0.0.0.0 in a Pod, else 127.0.0.1. */
  host: string;
  port: number;
}

/** Reads `host:port`, `[v6]:port` or `:port`; false if the text is empty or `0`: do not listen. */
export const ADDRESS: FlagType<Bind | false> = {
  ...{ name: "address", placeholder: "H:P", allowed: "host:port or :port, or 0 for none" },
  read(text, refuse) {
    if (text === "" || text === "0") return false;
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(text) ?? [];
    return port === "" ? refuse() : { host: host.replace(/^\[|\]$/g, ""), port: PORT.read(port, refuse) };
  },
};

/** Like {@link ADDRESS}, but for a port that cannot be off. */
export const NEEDED_ADDRESS: FlagType<Bind> = {
  ...{ ...ADDRESS, allowed: "host:port or :port" },
  read: (text, refuse) => ADDRESS.read(text, refuse) || refuse(),
};

/** Reads a path such as `/sandboxes`; undefined if the text is empty. */
export const PATH_PREFIX: FlagType<string | undefined> = {
  ...{ name: "path", placeholder: "P", allowed: "a path such as /sandboxes" },
  read: (text, refuse) => text === "" ? undefined : isPathPrefix(text) ? text : refuse(),
};

/** Reads a DNS domain: changes it to lower case and removes dots at its ends; undefined if it is empty. */
export const DOMAIN: FlagType<string | undefined> = {
  ...{ ...TEXT, name: "domain", placeholder: "D" },
  read: (text) => text.toLowerCase().replace(/^\.|\.$/g, "") || undefined,
};

/** Reads the name of a cookie or a query parameter; undefined if the text is empty. */
export const TOKEN_NAME: FlagType<string | undefined> = {
  ...{ name: "name", placeholder: "C", allowed: "a name of letters, digits, dots, - and _" },
  read: (text, refuse) => text === "" ? undefined : /^[A-Za-z0-9_.-]+$/.test(text) ? text : refuse(),
};

/** Reads the SameSite attribute of a cookie, in upper or lower case. */
export const SAME_SITE: FlagType<BrowserOptions["authzCookieSamesite"]> = {
  ...{ name: "Lax, Strict or None", placeholder: "S", allowed: "Lax, Strict or None" },
  read(text, refuse) {
    return (["Lax", "Strict", "None"] as const).find((each) => each.toLowerCase() === text.toLowerCase()) ?? refuse();
  },
};

/** Reads a list of addresses and subnets such as `10.0.0.0/8`. */
export const PROXIES: FlagType<string[]> = {
  ...{ ...LIST, allowed: "addresses or subnets such as 10.0.0.0/8, with commas between them" },
  read(text, refuse) {
    const proxies = LIST.read(text, refuse);
    // Throws an error that names the first invalid address.
    createAddressOf(proxies);
    return proxies;
  },
};
