/**
 * Sends a signed CloudEvent to the configured receiver. Sources: CloudEvents 1.0.2, HTTP 1.1 Web Hooks; Standard
 * Webhooks 1.0.0.
 * @module
 */
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { Webhook } from "standardwebhooks";
import { causeOf } from "../process/log.ts";
import type { CloudEvent } from "./cloudevent.ts";

/** The result of one try. */
export type Outcome =
  | { verdict: "delivered" }
  /** The receiver would refuse the event again. */
  | { verdict: "refused"; error: string }
  /** Try again, at the earliest after `afterMs`. */
  | { verdict: "again"; error: string; afterMs: number };

/** Sends an event once. Never throws. */
export type Receiver = (event: CloudEvent, signal: AbortSignal) => Promise<Outcome>;

export interface ReceiverOptions {
  /** URL of the receiver. */
  url: string;
  /**
   * File of the secrets that sign the events: one secret in the form of Standard Webhooks per line. It is read for each
   * event, so that it can be changed.
   */
  secretFile: string;
}

const TIMEOUT_MS = 10_000;
/** Longest wait that a receiver can ask for. */
const LONGEST_WAIT_MS = 300_000;
const LEAST_SECRET_BYTES = 24;
/** The receiver has read the event and will never accept it. */
const REFUSALS: readonly number[] = [400, 413, 415, 422];

/**
 * Creates the function that sends an event.
 *
 * | answer | outcome |
 * |---|---|
 * | 2xx | delivered |
 * | 400, 413, 415, 422 | refused |
 * | any other answer, no answer within 10 s, no connection, or no secret | again; Retry-After counts up to 5 minutes |
 *
 * Redirects are not followed.
 */
export function createReceiver({ url, secretFile }: ReceiverOptions): Receiver {
  return async (event, signal) => {
    try {
      const body = JSON.stringify(event);
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "Content-Type": "application/cloudevents+json; charset=utf-8",
          ...signed(event.id, body, await readSecrets(secretFile)),
        },
        body,
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.body?.cancel();
      return outcomeOf(response.status, response.headers.get("Retry-After"));
    } catch (error) {
      return { verdict: "again", error: causeOf(error), afterMs: 0 };
    }
  };
}

/** Returns the outcome of an answer. @param retryAfter the header; null: the answer has none */
export function outcomeOf(status: number, retryAfter: string | null): Outcome {
  if (status >= 200 && status < 300) return { verdict: "delivered" };
  const error = `the receiver answers with status ${status}`;
  if (REFUSALS.includes(status)) return { verdict: "refused", error };
  // If the header is a date, it is ignored, and the usual back-off applies.
  const seconds = Number(retryAfter ?? 0);
  const afterMs = seconds > 0 ? Math.min(seconds * 1000, LONGEST_WAIT_MS) : 0;
  return { verdict: "again", error, afterMs };
}

function signed(id: string, body: string, secrets: readonly string[]): Record<string, string> {
  const now = new Date();
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(" "),
  };
}

/**
 * Reads the secrets, one per line: `whsec_` and base64 of at least 24 bytes. With several secrets, events carry a
 * signature by each, and a receiver needs to know only one of them.
 *
 * @throws if the file cannot be read or has no secret
 */
export async function readSecrets(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new Error(`Cannot sign CloudEvents: ${causeOf(error)}`, { cause: error });
  });
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (lines.length === 0) throw new Error(`Cannot sign CloudEvents: ${file} is empty`);
  if (!lines.every(isSecret)) {
    const form = `"whsec_" and base64 of at least ${LEAST_SECRET_BYTES} bytes`;
    throw new Error(`Cannot sign CloudEvents: a line of ${file} is not ${form}`);
  }
  return lines;
}

function isSecret(text: string): boolean {
  const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  return encoded.length % 4 === 0 && Buffer.from(encoded, "base64").length >= LEAST_SECRET_BYTES;
}
