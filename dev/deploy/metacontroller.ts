/**
 * Renders Metacontroller's manifests for a cluster without access to a registry or repository. Account and process are
 * as in Metacontroller's own manifests; flags and rights are hookbox's (deploy/metacontroller).
 * @module
 */
import { readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { METACONTROLLER_IMAGE } from "./images.ts";

const FOLDER = new URL("../../deploy/metacontroller/", import.meta.url);
const CRDS = new URL("../metacontroller/crds.yaml", import.meta.url);
const NAME = "metacontroller";
const LABELS = { "app.kubernetes.io/name": NAME };
const RBAC = "rbac.authorization.k8s.io";

interface StatefulSet {
  metadata: object;
  spec: { template: { spec: { containers: object[] } } };
}

/** Renders namespace, CRDs, account, rights and process. */
export function metacontrollerManifests(): string {
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAME } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: NAME } },
    { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: NAME }, rules: rights() },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: NAME },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: NAME },
      subjects: [{ kind: "ServiceAccount", name: NAME, namespace: NAME }],
    },
    statefulSet(),
  ];
  return [readFileSync(CRDS, "utf8").trimEnd(), ...objects.map((object) => stringify(object))].join("\n---\n");
}

function rights(): object[] {
  const [{ value }] = parse(read("rights.yaml"));
  return value;
}

function statefulSet(): object {
  const { metadata, spec, ...rest }: StatefulSet = parse(read("statefulset.yaml"));
  const { template } = spec;
  const probe = (path: string) => ({ httpGet: { path, port: 8081 }, periodSeconds: 2, timeoutSeconds: 5 });
  // A busy node answers late, and the kubelet must not kill a working process.
  const livenessProbe = { ...probe("/healthz"), periodSeconds: 10, failureThreshold: 6 };
  const probes = { livenessProbe, readinessProbe: probe("/readyz") };
  const containers = template.spec.containers.map((container) => ({
    ...container,
    image: METACONTROLLER_IMAGE,
    ...probes,
  }));
  return {
    ...rest,
    metadata: { ...metadata, labels: LABELS },
    spec: {
      replicas: 1,
      serviceName: "",
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { ...template.spec, serviceAccountName: NAME, containers } },
    },
  };
}

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), "utf8");
}
