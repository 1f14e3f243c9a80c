/** docs/security.md lists each right that deploy/ gives the account of a process, and no other. @module */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (file: string) => readFileSync(ROOT + file, "utf8");
/** Not of a process: users are given it. */
const FOR_USERS = "hookbox-sandbox-user";

interface Role {
  kind: string;
  metadata: { name: string };
  rules: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

/** Each right in a line: namespaces, resource, verb. */
function granted(process: string): string[] {
  const rights = new Set<string>();
  for (const document of parseAllDocuments(read(`deploy/${process}/rbac.yaml`))) {
    const { kind, metadata, rules } = document.toJS() as Role;
    if (metadata.name === FOR_USERS) continue;
    const namespaces = kind === "ClusterRole" ? "all" : "its own";
    for (const { apiGroups: [group], resources, verbs, resourceNames } of rules) {
      const names = resourceNames?.map((name) => ` named ${name}`) ?? [""];
      for (const resource of resources) {
        // The one resource that two groups have.
        const called = group === "events.k8s.io" ? `${group}/${resource}` : resource;
        for (const name of names) for (const verb of verbs) rights.add(`${namespaces}: ${called}${name}: ${verb}`);
      }
    }
  }
  return [...rights].sort();
}

function listed(process: string): string[] {
  const rows = read("docs/security.md").split("\n").filter((line) => line.startsWith(`| ${process} `))
    .map((line) => line.split("|").slice(2, 5).map((cell) => cell.trim().replaceAll("`", "")))
    .filter(([, , namespaces = ""]) => ["all", "its own"].includes(namespaces));
  const rights = rows.flatMap(([resources = "", verbs = "", namespaces]) =>
    resources.split(", ").flatMap((resource) => verbs.split(", ").map((verb) => `${namespaces}: ${resource}: ${verb}`))
  );
  return rights.sort();
}

test.for(["keeper", "binder", "router"])("each right of the %s has a line, and each line is a right", (process) => {
  expect(granted(process).length).toBeGreaterThan(5);
  expect(listed(process)).toEqual(granted(process));
});
