/** Signs addresses of ports: with a secret that the router also has, or with a private key. @module */
import {
  isKeyID,
  readSigningKey,
  signSandboxToken,
  signToken,
  type TokenClaims,
} from "../../api/router/scopedtoken.ts";
import { InvalidArgumentError } from "../errors.ts";
import { variable } from "./environment.ts";
import type { ClientOptions } from "./options.ts";

/**
 * Returns a token that opens a Sandbox.
 *
 * @param readUID reads the Sandbox's UID; called only if the token needs it
 * @throws {@link InvalidArgumentError} if the options have neither a secret nor a key, or the key is unusable
 */
export async function signAddress(
  options: Pick<ClientOptions, "signingKey" | "signingSecret">,
  claims: TokenClaims,
  readUID: () => Promise<string>,
): Promise<string> {
  const signingKey = options.signingKey ?? (options.signingSecret === undefined ? keyOfEnvironment() : undefined);
  if (signingKey) {
    const { id, privateKey } = signingKey;
    if (!isKeyID(id)) throw new InvalidArgumentError(`Cannot sign an address: "${id}" is not the name of a key`);
    const key = await readSigningKey(privateKey).catch((cause) => {
      throw new InvalidArgumentError("Cannot sign an address: the key is not an Ed25519 private key in PEM", { cause });
    });
    return await signSandboxToken(key, id, { ...claims, uid: await readUID() });
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
