/** Environment variables, as callers of the SDK give them. @module */
import { InvalidArgumentError } from "./errors.ts";

/** Environment variables, by either of the names that SDKs have for them. */
export interface EnvOptions {
  /** Names and values. */
  env?: Record<string, string> | undefined;
  /** The same as `env`. */
  envs?: Record<string, string> | undefined;
}

/** Returns them. @throws {@link InvalidArgumentError} if both names are used */
export function envOf({ env, envs }: EnvOptions): Record<string, string> {
  if (env && envs) {
    throw new InvalidArgumentError("Cannot set variables: `env` and `envs` are the same, and both are given");
  }
  return env ?? envs ?? {};
}
