/** The binder's command line, and that its rights name the Lease it holds. @module */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { BINDER, readOptions } from "../../packages/binder/options.ts";
import { termOf } from "../../packages/process/flaghelp.ts";
import { BINDER_LEASE } from "../../packages/api/installation.ts";

describe("readOptions()", () => {
  test("has defaults for a Pod", () => {
    expect(readOptions([])).toEqual({
      kubeconfig: undefined,
      context: undefined,
      namespace: undefined,
      identity: undefined,
      host: undefined,
      logLevel: "info",
      otlpEndpoint: undefined,
      allowedLabelDomains: ["sandbox.users.io"],
      templateNetworkPolicy: "required",
      allowedAnnotationDomains: undefined,
      leaderElection: true,
      binderWorkers: 40,
      binderLeaseSeconds: 5,
      routerUrl: "http://sandbox-router-svc.agent-sandbox-system:8080",
      routerTokenFile: "/var/run/secrets/hookbox/router/token",
      port: 0,
    });
  });

  test("takes every option that the help names", () => {
    const args =
      "--kubeconfig F --context C --namespace N --identity I --no-leader-election --binder-workers 3 --binder-lease-seconds 30 --router-url http://r --router-token-file T " +
      "--template-network-policy optional --port 8081 --host ::1 --log-level warn " +
      "--otlp-endpoint http://traces:4318/ --allowed-label-domains a.example,b.example --allowed-annotation-domains c.example";
    expect(readOptions(args.split(" "))).toEqual({
      kubeconfig: "F",
      context: "C",
      namespace: "N",
      identity: "I",
      host: "::1",
      logLevel: "warn",
      otlpEndpoint: "http://traces:4318",
      allowedLabelDomains: ["a.example", "b.example"],
      templateNetworkPolicy: "optional",
      allowedAnnotationDomains: ["c.example"],
      leaderElection: false,
      binderWorkers: 3,
      binderLeaseSeconds: 30,
      routerUrl: "http://r",
      routerTokenFile: "T",
      port: 8081,
    });
    const named = Object.entries(BINDER.flags).map(([name, flag]) => termOf(name, flag).split(" ")[0]);
    expect(named.sort()).toEqual(args.match(/--[a-z-]+/g)?.sort());
    expect(readOptions(["--help"])).toBeUndefined();
  });

  test.for(
    [
      ["--port 70000", 'Cannot use --port "70000": use a whole number from 0 to 65535'],
      ["--binder-workers 0", 'Cannot use --binder-workers "0"'],
      ["--binder-workers 1.5", 'Cannot use --binder-workers "1.5"'],
      [
        "--refill-delay-seconds 5",
        "Cannot use --refill-delay-seconds: it is gone since 0.3.0, as the binder itself replaces the members",
      ],
      ["--log-level loud", 'Cannot use --log-level "loud": use debug, info, warn or error'],
      ["--context C", "Cannot use --context without --kubeconfig"],
      ["--nonsense", 'Unknown option "--nonsense"'],
      ["stray", 'Unknown argument "stray"'],
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
