/**
 * Fakes of what a test machine lacks: docker, kustomize, and the repository of Metacontroller's manifests.
 * Each checks its input as the real one would, and does as little as will do. @module
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { metacontrollerManifests } from "../../dev/deploy/install.ts";
import { readCRDs } from "../../packages/manifests/render.ts";
import type { Loose } from "./namespace.ts";

/** `docker build -f FILE -t NAME DIR`, of files that are there, and `docker push NAME`, of what was built. */
export const DOCKER = `#!/bin/sh
set -eu
images="$(dirname "$0")/images"
fail() { echo "docker: $1" >&2; exit 1; }
command=$1; shift
case $command in
  build)
    file= name= folder=
    while [ $# -gt 0 ]; do
      case $1 in
        -f) file=$2; shift 2 ;;
        -t) name=$2; shift 2 ;;
        -*) fail "unknown flag: $1" ;;
        *) [ -z "$folder" ] || fail '"docker build" requires exactly 1 argument.'; folder=$1; shift ;;
      esac
    done
    [ -d "$folder" ] || fail "unable to prepare context: path \\"$folder\\" not found"
    grep -q '^FROM ' "$file" || fail "failed to read dockerfile: open $file: no such file or directory"
    for from in $(sed -n 's/^COPY \\([^-][^ ]*\\) .*/\\1/p' "$file"); do
      [ -e "$folder/$from" ] || fail "failed to compute cache key: \\"/$from\\": not found"
    done
    echo "$name" >> "$images" ;;
  push) grep -qxF "$1" "$images" || fail "An image does not exist locally with the tag: $1" ;;
  *) fail "unknown command: $command" ;;
esac
`;

/** `kustomize edit set image NAME=NEW:TAG`, of the kustomization in the working directory. */
export const KUSTOMIZE = `#!/bin/sh
set -eu
fail() { echo "Error: $1" >&2; exit 1; }
[ "$1 $2 $3" = "edit set image" ] && [ $# = 4 ] || fail "unknown command: $*"
[ -f kustomization.yaml ] || fail "Missing kustomization file 'kustomization.yaml'"
! grep -q '^images:' kustomization.yaml || fail "this fake sets images once"
new=\${4#*=}
printf 'images:\\n- name: %s\\n  newName: %s\\n  newTag: "%s"\\n' "\${4%%=*}" "\${new%:*}" "\${new##*:}" >> kustomization.yaml
`;

/** CRDs of cert-manager and of Prometheus' operator, which take whatever they are given. */
export function othersCRDs(): string {
  const kinds = {
    "cert-manager.io": ["Issuer", "Certificate"],
    "monitoring.coreos.com": ["PodMonitor", "PrometheusRule", "ServiceMonitor"],
  };
  return Object.entries(kinds).flatMap(([group, names]) =>
    names.map((kind) => {
      const plural = `${kind.toLowerCase()}s`;
      const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
      const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
      const spec = { group, scope: "Namespaced", names: { kind, plural }, versions };
      const metadata = { name: `${plural}.${group}` };
      return stringify({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata, spec });
    })
  ).join("---\n");
}

/** What the Go controller's CRD says of itself here, other than ours. */
export const OF_THE_PEER = "As the Go controller has it.";

/** The CRD of Sandboxes of a cluster with the Go controller: it serves the same, in other words. */
export function peerCRD(): string {
  const crd: Loose = readCRDs().map((text) => parse(text)).find(({ spec }) => spec.names.kind === "Sandbox");
  for (const { schema } of crd.spec.versions) schema.openAPIV3Schema.description = OF_THE_PEER;
  return stringify(crd, { version: "1.1", aliasDuplicateObjects: false });
}

/** A cluster with the Go controller, as far as somebody sees it who moves over: its Deployment, and a Sandbox. */
export function peerObjects(): string {
  const name = "agent-sandbox-controller";
  const metadata = { name, namespace: "agent-sandbox-system" };
  const labels = { app: name };
  const container = { name, image: "registry.example/agent-sandbox-controller:1" };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const deployment = { replicas: 1, selector: { matchLabels: labels }, template };
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox:1.37" }] } };
  return [
    { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: deployment },
    { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "in-use" }, spec: { podTemplate } },
  ].map((object) => stringify(object)).join("---\n");
}

/**
 * Makes a repository of Metacontroller's own manifests: with every right, and flags of their own.
 *
 * @param folder of the repositories of that owner
 * @param tag the release
 */
export function makeEngineRepository(folder: string, tag: string): void {
  const root = join(folder, "metacontroller");
  const production = join(root, "manifests/production");
  mkdirSync(production, { recursive: true });
  const objects: Loose[] = parseAllDocuments(metacontrollerManifests()).map((document) => document.toJS());
  for (const { kind, spec, ...rest } of objects) {
    if (kind === "ClusterRole") rest.rules.splice(0, Infinity, { apiGroups: ["*"], resources: ["*"], verbs: ["*"] });
    if (kind !== "StatefulSet") continue;
    const [{ name, livenessProbe, readinessProbe }] = spec.template.spec.containers;
    const image = `registry.example/metacontroller:${tag}`;
    const container = { name, image, args: ["--zap-log-level=4"], livenessProbe, readinessProbe };
    spec.template.spec = { serviceAccountName: name, containers: [container] };
  }
  writeFileSync(join(production, "all.yaml"), objects.map((object) => stringify(object)).join("---\n"));
  writeFileSync(join(production, "kustomization.yaml"), "resources: [all.yaml]\n");
  makeRepository(root, tag);
}

/** Makes a git repository of a folder, with all that is in it in one commit. */
export function makeRepository(folder: string, tag: string): void {
  const author = ["user.name=test", "user.email=test@example.com", "commit.gpgsign=false"].flatMap((
    one,
  ) => ["-c", one]);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, stdio: "pipe" });
  git("init", "--quiet");
  git("add", "--all");
  git(...author, "commit", "--quiet", "--message", "As it was");
  git("tag", tag);
}
