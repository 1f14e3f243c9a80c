/** Renders kubeconfig files for the local cluster. @module */
import { Buffer } from "node:buffer";
import { stringify } from "yaml";

/**
 * Renders a kubeconfig with one cluster, one user with a bearer token and one context, all named `hookbox`.
 *
 * @param access `ca` is the PEM of the API server's certificate authority
 */
export function renderKubeconfig(access: { server: string; ca: string; token: string }): string {
  const name = "hookbox";
  const authority = Buffer.from(access.ca).toString("base64");
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: access.server, "certificate-authority-data": authority } }],
    users: [{ name, user: { token: access.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}
