/** The binder's command line, and that its rights name the Lease it holds. @module */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { HELP, readOptions } from "../../packages/binder/options.ts";
import { BINDER_LEASE } from "../../packages/api/installation.ts";

describe("readOptions()", () => {
  test("has defaults for a Pod", () => {
    expect(readOptions([])).toEqual({
      kubeconfig: undefined,
      context: undefined,
      namespace: undefined,
      identity: undefined,
      host: undefined,
      help: false,
      logLevel: "info",
      otlpEndpoint: undefined,
      allowedLabelDomains: ["sandbox.users.io"],
      templateNetworkPolicy: "required",
      allowedAnnotationDomains: undefined,
      leaderElection: true,
      workers: 40,
      refillDelayMs: 5000,
      port: 0,
    });
  });

  test("takes every option that the help names", () => {
    const args = "--kubeconfig F --context C --namespace N --identity I --no-leader-election --binder-workers 3 " +
      "--refill-delay-seconds 0 --template-network-policy optional --port 8081 --host ::1 --log-level warn " +
      "--otlp-endpoint http://traces:4318/ --allowed-label-domains a.example,b.example --allowed-annotation-domains c.example --help";
    expect(readOptions(args.split(" "))).toEqual({
      kubeconfig: "F",
      context: "C",
      namespace: "N",
      identity: "I",
      host: "::1",
      help: true,
      logLevel: "warn",
      otlpEndpoint: "http://traces:4318",
      allowedLabelDomains: ["a.example", "b.example"],
      templateNetworkPolicy: "optional",
      allowedAnnotationDomains: ["c.example"],
      leaderElection: false,
      workers: 3,
      refillDelayMs: 0,
      port: 8081,
    });
    const named = [...HELP.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name);
    expect(named).toEqual(args.match(/--[a-z-]+/g)?.filter((name) => name !== "--help"));
  });

  test.for(
    [
      ["--port 70000", 'Cannot listen on port "70000"'],
      ["--binder-workers 0", 'Cannot serve claims at once: "0"'],
      ["--binder-workers 1.5", 'Cannot serve claims at once: "1.5"'],
      ["--refill-delay-seconds x", 'Cannot delay refills for seconds "x"'],
      ["--log-level loud", 'Cannot log at level "loud"'],
      ["--context C", "it needs --kubeconfig"],
      ["--nonsense", "Unknown option '--nonsense'"],
      ["stray", "Unexpected argument 'stray'"],
    ] as const,
  )("refuses %s", ([args, message]) => {
    expect(() => readOptions(args.split(" "))).toThrow(message);
  });
});

test("rbac.yaml names the Lease that the binder holds", () => {
  const path = new URL("../../deploy/binder/rbac.yaml", import.meta.url);
  const documents = parseAllDocuments(readFileSync(path, "utf8")).map((document) => document.toJS());
  const role = documents.find(({ kind }) => kind === "Role");
  expect(role.rules.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual([BINDER_LEASE]);
});
