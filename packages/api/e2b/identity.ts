/**
 * Makes and checks what E2B's clients hold: IDs of sandboxes, tokens, signatures of URLs, and API keys of projects. All
 * follow from one secret, so that the router needs no table. Pure.
 * @module
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { isDNSLabel } from "../objects/names.ts";

/** What a sandbox was created with and keeps. It is part of the ID, because the router knows only Sandboxes. */
export interface Traits {
  /** Whether ports of programs need no token. */
  isPublic: boolean;
  /** Whether requests resume the sandbox. */
  autoResume: boolean;
}

/** The first letter of an ID. */
const LETTERS: Record<string, Traits> = {
  a: { isPublic: true, autoResume: false },
  b: { isPublic: true, autoResume: true },
  c: { isPublic: false, autoResume: false },
  d: { isPublic: false, autoResume: true },
};
/** All combinations of traits. */
export const TRAITS: readonly Traits[] = Object.values(LETTERS);
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";
const CHOSEN = 12;
const CHECKED = 7;
const ID = new RegExp(`^[${Object.keys(LETTERS).join("")}][0-9a-z]{${CHOSEN + CHECKED}}$`);

/**
 * Returns an ID: a letter for the traits, 12 digits, and 7 that only the owner of the secret can compute. So nobody can
 * create a claim in another namespace that requests for this ID would reach. It is the name of the claim.
 *
 * @param bytes 16 random bytes, or bytes that are the same for the same request
 */
export function sandboxID(secret: Uint8Array, namespace: string, traits: Traits, bytes: Uint8Array): string {
  const [letter = ""] =
    Object.entries(LETTERS).find(([, { isPublic, autoResume }]) =>
      isPublic === traits.isPublic && autoResume === traits.autoResume
    ) ?? [];
  const chosen = letter + digitsOf(bytes, CHOSEN);
  return chosen + checkOf(secret, namespace, chosen);
}

/** Returns the traits in an ID; undefined if the text cannot be an ID. */
export function traitsOf(id: string): Traits | undefined {
  return ID.test(id) ? LETTERS[id.charAt(0)] : undefined;
}

/** Tells whether one of the secrets has made an ID for this namespace. */
export function isIDOf(secrets: readonly Uint8Array[], namespace: string, id: string): boolean {
  if (!traitsOf(id)) return false;
  const [chosen, check] = [id.slice(0, -CHECKED), id.slice(-CHECKED)];
  return secrets.some((secret) => isSame(checkOf(secret, namespace, chosen), check));
}

function checkOf(secret: Uint8Array, namespace: string, chosen: string): string {
  return digitsOf(signed(secret, "id", [namespace, chosen]), CHECKED);
}

/** Writes the first 16 bytes as a number of base 36, and returns its last digits. */
function digitsOf(bytes: Uint8Array, count: number): string {
  let rest = BigInt(`0x${bytesToHex(bytes.subarray(0, 16))}`);
  let digits = "";
  while (digits.length < count) {
    digits = DIGITS.charAt(Number(rest % 36n)) + digits;
    rest /= 36n;
  }
  return digits;
}

/** A sandbox as its tokens name it. */
export interface Identity {
  namespace: string;
  id: string;
  /** UID of the claim: a later claim of the same name has other tokens. */
  uid: string;
}

/** What a token admits to: `access` to commands and files (port 49983), `traffic` to the ports of programs. */
export type TokenKind = "access" | "traffic";

/** Returns a token. The same sandbox always has the same one. */
export function tokenOf(secret: Uint8Array, kind: TokenKind, { namespace, id, uid }: Identity): string {
  return base64(signed(secret, kind, [namespace, id, uid])).replaceAll("+", "-").replaceAll("/", "_");
}

/** Tells whether one of the secrets has made a token for this sandbox. */
export function isTokenOf(
  secrets: readonly Uint8Array[],
  kind: TokenKind,
  identity: Identity,
  token: string,
): boolean {
  return secrets.some((secret) => isSame(tokenOf(secret, kind, identity), token));
}

/** The parts of a signed URL of `/files`. */
export interface SignedFile {
  /** As in the URL; empty: the URL has none. */
  path: string;
  operation: "read" | "write";
  /** Empty: the URL has none. */
  user: string;
  /** In seconds since the epoch, as in the URL; undefined: the URL has none. */
  expiration: string | undefined;
}

/** Returns the signature that E2B's SDKs compute. Source: e2b 2.51.0, `getSignature`. */
export function fileSignature({ path, operation, user, expiration }: SignedFile, token: string): string {
  const text = [path, operation, user, token, ...expiration === undefined ? [] : [expiration]].join(":");
  return `v1_${base64(sha256(utf8ToBytes(text)))}`;
}

/** Compares two texts in a time that does not depend on what they contain. */
export function isSame(a: string, b: string): boolean {
  const [one, other] = [utf8ToBytes(a), utf8ToBytes(b)];
  let difference = one.length ^ other.length;
  for (let i = 0; i < one.length; i++) difference |= (one[i] ?? 0) ^ (other[i] ?? 0);
  return difference === 0;
}

function signed(secret: Uint8Array, purpose: string, parts: readonly string[]): Uint8Array {
  // No part contains a NUL.
  return hmac(sha256, secret, utf8ToBytes(["hookbox/e2b", purpose, ...parts].join("\0")));
}

/** Without padding. */
function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/=+$/, "");
}

/**
 * Returns 16 bytes that are always the same for the same key of a project's request.
 *
 * @param key the header Idempotency-Key
 */
export function repeatedBytes(secret: Uint8Array, namespace: string, key: string): Uint8Array {
  return signed(secret, "idempotency", [namespace, key]).subarray(0, 16);
}

const API_KEY = /^e2b_((?:[0-9a-f]{2})+)00([0-9a-f]{48})$/;

/**
 * Returns an API key: `e2b_`, the namespace, a zero byte, and 24 random bytes, all in hexadecimal digits. Older SDKs
 * accept no other form. The namespace in it tells which Secret has the key's hash.
 */
export function apiKeyOf(namespace: string, random: Uint8Array): string {
  return `e2b_${bytesToHex(utf8ToBytes(namespace))}00${bytesToHex(random)}`;
}

/** Returns the namespace in an API key; undefined: the text is not an API key. */
export function namespaceOfKey(key: string): string | undefined {
  const namespace = new TextDecoder().decode(hexToBytes(API_KEY.exec(key)?.[1] ?? ""));
  return isDNSLabel(namespace) ? namespace : undefined;
}

/** Returns what is stored of an API key. Nobody can find a key of 24 random bytes from its hash. */
export function keyHash(key: string): string {
  return bytesToHex(sha256(utf8ToBytes(key)));
}
