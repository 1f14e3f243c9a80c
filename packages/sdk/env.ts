/** Environment variables as options of the SDK. @module */
import { InvalidArgumentError } from "./errors.ts";

/** Environment variables. Both names are accepted, because SDKs use either. */
export interface EnvOptions {
  /** Environment variables by name. */
  env?: Record<string, string> | undefined;
  /** Another name for `env`. Set only one of them. */
  envs?: Record<string, string> | undefined;
}

/**
 * Returns the variables, by whichever name they were set.
 *
 * @throws {@link InvalidArgumentError} if both names are used
 */
export function envOf({ env, envs }: EnvOptions): Record<string, string> {
  if (env && envs) {
    throw new InvalidArgumentError("Cannot set variables: `env` and `envs` are the same, and both are given");
  }
  return env ?? envs ?? {};
}
