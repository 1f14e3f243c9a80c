/** Lets in who has a token for the sandbox. Asks nobody. @module */
import { type Authorise, unauthorized } from "./grant.ts";
import { openToken } from "./scopedtoken.ts";

/**
 * Makes the decision of mode scoped-token.
 *
 * @param secrets asked each time: they are replaced while the router runs
 */
export function createScopedAccess(secrets: () => readonly Uint8Array[]): Authorise {
  return ({ target, token }) => {
    if (target.podIP !== undefined || target.uid !== undefined) {
      return { status: 403, detail: "A scoped token does not go with X-Sandbox-Pod-IP or X-Sandbox-UID." };
    }
    const claims = token === undefined ? undefined : openToken(secrets(), token, Date.now());
    if (!claims) return unauthorized(token);
    const { ns, name, port = target.port, exp } = claims;
    if (ns !== target.namespace || name !== target.name || port !== target.port) {
      return { status: 403, detail: "The token is for another sandbox or port." };
    }
    return { client: `token:${ns}/${name}`, expires: exp };
  };
}
