/**
 * Runs golden cases: `<case>.in.yaml` is a request in short form, `<case>.out.yaml` the whole answer. `vitest -u` writes
 * the latter, by hand only. @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { expect, test } from "vitest";
import { aChild, mapOf } from "./sandboxes.ts";

/** One golden input: the request in full, and the file it came from. */
export interface GoldenCase {
  name: string;
  request: Record<string, unknown>;
  out: string;
}

/**
 * Reads the cases of a folder. Short form: `children` is a list, of which `lastApplied` becomes the annotation of that
 * name; namespace and uid have defaults.
 */
export function goldenCases(directory: URL): GoldenCase[] {
  return readdirSync(directory).filter((file) => file.endsWith(".in.yaml")).sort().map((file) => {
    const { parent, children = [] } = parse(readFileSync(new URL(file, directory), "utf8"));
    const metadata = { name: "demo", namespace: "team-a", uid: "uid-demo", generation: 1, ...parent.metadata };
    const type = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" };
    const spec = { operatingMode: "Running", shutdownPolicy: "Retain", ...parent.spec };
    return {
      name: file.replace(".in.yaml", ""),
      request: {
        parent: { ...type, ...parent, metadata, spec },
        children: mapOf(children.map(({ kind, ...rest }: { kind: string }) => aChild(kind, rest))),
        related: {},
        finalizing: false,
      },
      out: new URL(file.replace(".in.", ".out."), directory).pathname,
    };
  });
}

/** Compares the answer to every case with its file. */
export function goldenTests(cases: GoldenCase[], answer: (request: unknown) => unknown): void {
  test.for(cases)("golden: $name", async ({ request, out }) => {
    const text = stringify(answer(request), { aliasDuplicateObjects: false, lineWidth: 0 });
    await expect(text).toMatchFileSnapshot(out);
  });
}
