/** Defines the types of option values: how to parse a text, and how to describe what is allowed. @module */
import { LONGEST_TIMER_MS } from "./clock.ts";
import { parseDuration } from "./durations.ts";

/** A type of values. */
export interface FlagType<T> {
  /** Name in docs/reference/flags.md: `whole number from 1 to 1000`. */
  name: string;
  /** Placeholder for a value in the help: `N`; empty: the option has no value. */
  placeholder: string;
  /** What is allowed, as error messages name it after "use": `a whole number from 1 to 1000`. */
  allowed: string;
  /** A value may contain a password, so error messages do not repeat it. */
  isSecret?: true;
  /** Parses a value. @param refuse throws the error for a text that is not allowed */
  read(text: string, refuse: () => never): T;
}

/** Any text. */
export const TEXT: FlagType<string> = {
  ...{ name: "text", placeholder: "TEXT", allowed: "any text" },
  read: (text) => text,
};

/** On or off: `--x`, `--no-x`, and as with Go's flags `--x=false`. */
export const SWITCH: FlagType<boolean> = {
  ...{ name: "switch", placeholder: "", allowed: "true or false" },
  read: (text, refuse) => text === "true" || (text === "false" ? false : refuse()),
};

/** Words separated by commas or line breaks: a key of a ConfigMap may have several lines. */
export const LIST: FlagType<string[]> = {
  ...{ name: "list", placeholder: "A,B", allowed: "words with commas between them" },
  read: (text) => text.split(/[,\n]/).map((word) => word.trim()).filter(Boolean),
};

/** A duration in milliseconds, at most what a timer supports: a longer timer would fire at once. */
export const DURATION: FlagType<number> = {
  ...{ name: "duration", placeholder: "D", allowed: "a duration such as 200ms, 30s, 1m30s, or seconds" },
  read(text, refuse) {
    const ms = parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
    return ms === undefined ? refuse() : Math.min(ms, LONGEST_TIMER_MS);
  },
};

const FACTORS: Record<string, number> = { "": 1, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

/** A number of bytes above 0. */
export const SIZE: FlagType<number> = {
  ...{ name: "size", placeholder: "N", allowed: "a size such as 65536, 64Ki or 1Gi" },
  read(text, refuse) {
    const [, number = "0", unit = ""] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
    return Number(number) > 0 ? Number(number) * (FACTORS[unit] ?? 1) : refuse();
  },
};

/** A port to listen on; 0 chooses a free one. */
export const PORT: FlagType<number> = { ...wholeNumber(0, 65_535), name: "port", placeholder: "P" };

/** A base URL of HTTP, without trailing slashes; undefined for an empty text. */
export const HTTP_URL: FlagType<string | undefined> = {
  ...{ name: "URL", placeholder: "URL", allowed: "an http or https URL such as http://collector:4318" },
  read(text, refuse) {
    if (text === "") return undefined;
    const isHTTP = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
    return isHTTP ? text.replace(/\/+$/, "") : refuse();
  },
};

/** A whole number. */
export function wholeNumber(least = 0, most = Number.MAX_SAFE_INTEGER): FlagType<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return {
    ...{ name: `whole number ${range}`, placeholder: "N", allowed: `a whole number ${range}` },
    read(text, refuse) {
      const value = Number(text);
      return text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most ? value : refuse();
    },
  };
}

/** A number, with or without a fraction. */
export function number(least = 0): FlagType<number> {
  return {
    ...{ name: `number of at least ${least}`, placeholder: "N", allowed: `a number of at least ${least}` },
    read(text, refuse) {
      const value = Number(text);
      return text.trim() !== "" && Number.isFinite(value) && value >= least ? value : refuse();
    },
  };
}

/** One of several words. */
export function choice<const T extends string>(choices: readonly T[], placeholder = "X"): FlagType<T> {
  return {
    ...{ name: oneOf(choices), placeholder, allowed: oneOf(choices) },
    read: (text, refuse) => choices.find((choice) => choice === text) ?? refuse(),
  };
}

/** Lists words for a sentence: `debug, info, warn or error`. */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
