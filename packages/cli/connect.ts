/** Creates a client of the SDK from the options for cluster, router and token. @module */
import { SandboxClient } from "../sdk/client.ts";
import { createClientContext } from "../sdk/setup/clientcontext.ts";
import type { ClientOptions } from "../sdk/setup/clientoptions.ts";
import { findKubeconfig } from "./cluster.ts";
import type { Connection, ConnectionOptions } from "./commandcontext.ts";

/** Creates the client; sends no request. @throws {Failure} if there is neither a cluster nor a router */
export async function connectSandboxes(
  where: ConnectionOptions,
  env: Record<string, string | undefined>,
): Promise<Connection> {
  const { namespace, token } = where;
  const routerUrl = where.router ?? env["HOOKBOX_ROUTER_URL"];
  const chosen = await clusterIfAny(where, env, routerUrl !== undefined);
  const options: ClientOptions = {
    ...chosen ? { kubeconfig: chosen.path } : {},
    ...chosen?.context === undefined ? {} : { context: chosen.context },
    ...namespace === undefined ? {} : { namespace },
    ...routerUrl === undefined ? {} : { routerUrl },
    ...token === undefined ? {} : { token },
  };
  return {
    client: new SandboxClient(options),
    way: routerUrl !== undefined ? "router" : chosen ? "forward" : "direct",
    transportTo: async (namespace, name) => await createClientContext(options).transportTo(namespace, name),
  };
}

/** Undefined if there is no cluster but a router, which is enough to work inside a sandbox. */
async function clusterIfAny(where: ConnectionOptions, env: Record<string, string | undefined>, hasRouter: boolean) {
  try {
    return await findKubeconfig(where, env);
  } catch (error) {
    if (hasRouter) return undefined;
    throw error;
  }
}
