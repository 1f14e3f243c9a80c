/** Reading objects over one kept connection: a kubectl per look would cost more than what is looked at. @module */
import { connect } from "../../packages/kube/connection.ts";
import { answerError, type Api } from "../../packages/kube/api.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

const CORE = "/api/v1";
const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1";
const KINDS: Record<string, [groupVersion: string, plural: string]> = {
  event: ["/apis/events.k8s.io/v1", "events"],
  networkpolicy: ["/apis/networking.k8s.io/v1", "networkpolicies"],
  persistentvolumeclaim: [CORE, "persistentvolumeclaims"],
  pod: [CORE, "pods"],
  pvc: [CORE, "persistentvolumeclaims"],
  resourcequota: [CORE, "resourcequotas"],
  sandbox: ["/apis/agents.x-k8s.io/v1beta1", "sandboxes"],
  sandboxclaim: [EXTENSIONS, "sandboxclaims"],
  sandboxtemplate: [EXTENSIONS, "sandboxtemplates"],
  sandboxwarmpool: [EXTENSIONS, "sandboxwarmpools"],
  service: [CORE, "services"],
  serviceaccount: [CORE, "serviceaccounts"],
};

/** Reads of one namespace; kinds as kubectl names them, plural or not. */
export interface Reads {
  /** Returns undefined if there is no such object. */
  get(kind: string, name: string): Promise<Loose | undefined>;
  list(kind: string): Promise<Loose[]>;
}

const apis = new Map<string, Promise<Api>>();

/** Makes the reads of one namespace. Connections end with the process. */
export function readsOf({ kubeconfig }: Kubectl, namespace: string): Reads {
  const send = async (kind: string, name?: string) => {
    const api = apis.get(kubeconfig) ??
      kubeconfigCredentials(kubeconfig).then((credentials) =>
        connect(credentials, { signal: new AbortController().signal, userAgent: "hookbox-test" })
      );
    apis.set(kubeconfig, api);
    const [groupVersion, plural] = KINDS[kind] ?? Object.values(KINDS).find(([, plural]) => plural === kind) ?? [];
    if (plural === undefined) {
      throw new RangeError(`Cannot read "${kind}": tests know ${Object.keys(KINDS).join(", ")}`);
    }
    const path = `${groupVersion}/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`;
    const answer = await (await api).send({ method: "GET", path });
    if (answer.status === 404 && name !== undefined) return undefined;
    if (answer.status !== 200) throw answerError(`read ${kind} ${name ?? ""}`, answer);
    return answer.body as Loose;
  };
  return {
    get: (kind, name) => send(kind, name),
    list: async (kind) => {
      const { items, apiVersion, kind: listKind } = await send(kind);
      return items.map((item: Loose) => ({ apiVersion, kind: listKind.replace(/List$/, ""), ...item }));
    },
  };
}
