/** The objects of a project for E2B's clients: a namespace with limits, a pool, and the rights of the processes there. @module */
import { ALIASES_ANNOTATION, PROJECT_LABEL } from "../../api/e2b/objects.ts";
import { ROUTER_NAMESPACE } from "../../api/installation.ts";
import { LATE_BINDING_ANNOTATION } from "../../api/objects/keys.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { RUNTIME_KEY_SECRET } from "../../api/router/scopedtoken.ts";
import { COUNTED_CLAIMS } from "../../summary/quotas.ts";

/** What a project is to have. Quantities are those of Kubernetes. */
export interface ProjectOptions {
  name: string;
  /** Namespace of hookbox's binder. */
  systemNamespace: string;
  /** Most sandboxes at a time, without those of pools that nobody uses yet. */
  sandboxes: number;
  /** Limits of one sandbox. */
  cpu: string;
  memory: string;
  /** Image of the sandboxes: `hookbox-agent`, or one that is built on it. Undefined: the project gets no pool. */
  image: string | undefined;
  /** Sandboxes that wait for clients. */
  poolSize: number;
  /** Size of a volume for the home directory, so that sandboxes can be paused. Undefined: no volume. */
  storage: string | undefined;
  /** Whether programs may become root: in a user namespace of the Pod, or as root of the node. */
  root: "namespaced" | "host" | undefined;
}

const EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1";
/** Names of templates by which E2B's SDKs ask if a program names none. */
const ALIASES = "base, code-interpreter-v1";
const POOL = "base";
const HOME = "/home/user";
/** Where the runtime looks for its token. */
const TOKEN_FOLDER = "/var/run/secrets/hookbox/runtime";

/** Returns the objects in the order in which they must be applied. */
export function projectObjects(options: ProjectOptions): KubeObject[] {
  const { name: namespace, systemNamespace, sandboxes, cpu, memory, image } = options;
  const objects: KubeObject[] = [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name: namespace,
        labels: { [PROJECT_LABEL]: "true", "pod-security.kubernetes.io/enforce": "baseline" },
      },
    },
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "hookbox-project", namespace },
      spec: {
        hard: { [COUNTED_CLAIMS]: String(sandboxes) },
      },
    } as KubeObject,
    {
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: { name: "hookbox-project", namespace },
      spec: {
        limits: [{ type: "Container", default: { cpu, memory }, defaultRequest: { cpu: "100m", memory: "128Mi" } }],
      },
    } as KubeObject,
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "hookbox-default-deny", namespace },
      spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
    } as KubeObject,
    binding("hookbox-e2b-project", namespace, { name: "hookbox-e2b", namespace: ROUTER_NAMESPACE }),
    binding("hookbox-binder-late", namespace, { name: "hookbox-binder", namespace: systemNamespace }),
  ];
  return image === undefined ? objects : [...objects, ...poolObjects(options, image)];
}

function binding(role: string, namespace: string, account: { name: string; namespace: string }): KubeObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: role, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", ...account }],
  } as KubeObject;
}

function poolObjects(options: ProjectOptions, image: string): KubeObject[] {
  const { name: namespace, cpu, memory, poolSize, storage, root } = options;
  const podUID = { name: "HOOKBOX_POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } };
  const claimUID = {
    name: "HOOKBOX_CLAIM_UID",
    valueFrom: { fieldRef: { fieldPath: "metadata.labels['agents.x-k8s.io/claim-uid']" } },
  };
  const token = { name: "token", mountPath: TOKEN_FOLDER };
  const home = storage === undefined ? [] : [{ name: "home", mountPath: HOME }];
  const template = {
    apiVersion: EXTENSIONS,
    kind: "SandboxTemplate",
    // Variables that a client sets go to a sandbox that runs already.
    metadata: { name: POOL, namespace, annotations: { [LATE_BINDING_ANNOTATION]: "Allowed" } },
    spec: {
      envVarsInjectionPolicy: "Allowed",
      ...storage === undefined ? {} : {
        volumeClaimTemplates: [{
          metadata: { name: "home" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
        }],
      },
      podTemplate: {
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 1,
          ...root === "namespaced" ? { hostUsers: false } : {},
          ...storage === undefined ? {} : { securityContext: { fsGroup: 1000 } },
          initContainers: [{
            name: "token",
            image,
            args: ["--derive-token-from", "/key/key"],
            env: [podUID],
            volumeMounts: [{ name: "key", mountPath: "/key", readOnly: true }, token],
          }],
          containers: [{
            name: "main",
            image,
            args: [
              "--token-scope",
              "bind",
              "--workdir",
              HOME,
              ...root ? ["--user", "user", "--allow-users", "root"] : [],
            ],
            // In hookbox-agent, sudo needs no password.
            securityContext: root ? { runAsUser: 0 } : { allowPrivilegeEscalation: false },
            // Relative paths of E2B's clients start here, and the volume is here.
            env: [podUID, claimUID, { name: "HOME", value: HOME }],
            readinessProbe: { httpGet: { path: "/", port: 8888 }, periodSeconds: 1 },
            resources: { limits: { cpu, memory }, requests: { cpu: "100m", memory: "128Mi" } },
            volumeMounts: [{ ...token, readOnly: true }, ...home],
          }],
          volumes: [
            { name: "key", secret: { secretName: RUNTIME_KEY_SECRET } },
            { name: "token", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
          ],
        },
      },
    },
  };
  const pool = {
    apiVersion: EXTENSIONS,
    kind: "SandboxWarmPool",
    metadata: { name: POOL, namespace, annotations: { [ALIASES_ANNOTATION]: ALIASES } },
    spec: { replicas: poolSize, sandboxTemplateRef: { name: POOL } },
  };
  return [template, pool] as unknown as KubeObject[];
}
