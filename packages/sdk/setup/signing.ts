/** Signs URLs of ports with the router's secret or with a private key. @module */
import {
  isKeyID,
  readSigningKey,
  signSandboxToken,
  signToken,
  type TokenClaims,
} from "../../api/router/scopedtoken.ts";
import { readSandbox } from "../control/find.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { ClientContext } from "./clientcontext.ts";
import { type ClientOptions, variable } from "./clientoptions.ts";

/**
 * Returns a token that gives access to a port of a Sandbox for this many milliseconds.
 *
 * @throws {@link InvalidArgumentError} if the time is not finite, if the client has neither a secret nor a key, or if
 * the key is invalid
 * @throws {@link SandboxNotFoundError} if a key signs and the Sandbox does not exist: the token contains its UID
 */
export async function signAddress(
  { options, api }: Pick<ClientContext, "options" | "api">,
  what: Omit<TokenClaims, "exp">,
  validForMs: number,
  signal?: AbortSignal,
): Promise<string> {
  if (!Number.isFinite(validForMs)) {
    throw new InvalidArgumentError("Cannot sign an address: signedForMs is not finite");
  }
  const claims = { ...what, exp: Math.floor((Date.now() + validForMs) / 1000) };
  const signingKey = options.signingKey ?? (options.signingSecret === undefined ? keyOfEnvironment() : undefined);
  if (signingKey) {
    const { id, privateKey } = signingKey;
    if (!isKeyID(id)) throw new InvalidArgumentError(`Cannot sign an address: "${id}" is not the name of a key`);
    const key = await readSigningKey(privateKey).catch((cause) => {
      throw new InvalidArgumentError("Cannot sign an address: the key is not an Ed25519 private key in PEM", { cause });
    });
    const { metadata: { uid = "" } } = await readSandbox(await api(), claims.ns, claims.name, signal);
    return await signSandboxToken(key, id, { ...claims, uid });
  }
  const secret = options.signingSecret ?? variable("HOOKBOX_SIGNING_SECRET");
  if (secret === undefined) {
    throw new InvalidArgumentError("Cannot sign an address: there is no secret", {
      remedy:
        "Give the option `signingSecret`, one of the router's --authz-scoped-token-secret-file, or `signingKey`, " +
        "a key of its --authz-scoped-token-public-keys-file.",
    });
  }
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : new Uint8Array(secret);
  return await signToken(bytes, claims);
}

function keyOfEnvironment(): ClientOptions["signingKey"] {
  const [privateKey, id] = [variable("HOOKBOX_SIGNING_KEY"), variable("HOOKBOX_SIGNING_KEY_ID")];
  if (privateKey === undefined) return undefined;
  if (id !== undefined) return { id, privateKey };
  throw new InvalidArgumentError("Cannot sign an address: HOOKBOX_SIGNING_KEY_ID is not set", {
    remedy: "Set it to the name by which the router knows the public key.",
  });
}
