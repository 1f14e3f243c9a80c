/** Who may reach a sandbox: the question and its answers. @module */
import type { Refusal } from "../refusal.ts";
import type { Target } from "../destination/target.ts";

/** A request's credentials and what they are for. */
export interface Ask {
  target: Target;
  token: string | undefined;
  /** Address that the request comes from. */
  address: string;
}

/** The client may. `client` names it for limits and logs: a user, a token's sandbox, or an address. */
export interface Grant {
  client: string;
  /** Until when, in seconds since the epoch; undefined: not known. */
  expires?: number;
}

/** Decides whether a client may reach a sandbox. */
export type Authorise = (ask: Ask) => Grant | Refusal | Promise<Grant | Refusal>;

/** Refuses who has not said who it is. Source of the texts: Agent Sandbox API, section 7.2. */
export function unauthorized(token: string | undefined): Refusal {
  const detail = token === undefined ? "Missing or invalid Authorization header." : "Invalid token.";
  return { status: 401, detail, headers: { "WWW-Authenticate": "Bearer" } };
}
