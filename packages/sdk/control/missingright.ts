/** Finds the role that a user lacks in a refusal of the API server. @module */

import { shellWord, subjectOf } from "../../api/access.ts";

/** Source: responsewriters.Forbidden of k8s.io/apiserver 1.36. */
const FORBIDDEN =
  /User "([^"]+)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;
const READING = ["get", "list", "watch"];
const OURS = ["agents.x-k8s.io", "extensions.agents.x-k8s.io"];

/** Returns which role to ask for (deploy/users/roles.yaml); undefined: no role has the right, or none is missing. */
export function missingRightRemedy(message: string): string | undefined {
  const [, user = "", verb = "", resource = "", group = "", namespace] = FORBIDDEN.exec(message) ?? [];
  if (user === "") return undefined;
  if (resource === "pods/portforward") {
    return "Without the right to port-forward, use the router: the option `routerUrl`, or HOOKBOX_ROUTER_URL. " +
      `It requires the right to connect. ${askFor("hookbox-edit", user, namespace)}`;
  }
  if (READING.includes(verb)) return askFor("hookbox-view", user, namespace);
  return OURS.includes(group) ? askFor("hookbox-edit", user, namespace) : undefined;
}

function askFor(role: string, user: string, namespace: string | undefined): string {
  const binding = namespace === undefined ? "clusterrolebinding" : "rolebinding";
  const where = namespace === undefined ? "" : ` -n ${shellWord(namespace)}`;
  return `Ask for ClusterRole ${role}: kubectl create ${binding} NAME --clusterrole=${role} ${subjectOf(user)}${where}`;
}
