import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { HELP, readOptions } from "../../packages/keeper/options.ts";
import { KEEPER_LEASE } from "../../packages/api/installation.ts";

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
      claimEvents: true,
      sandboxEvents: true,
      cloudEvents: undefined,
      binder: true,
      workers: 40,
      refillDelayMs: 5000,
      leaseSeconds: 15,
      maxLossesPerMinute: 600,
      port: 0,
    });
  });

  test("takes every option that the help names", () => {
    const args =
      "--kubeconfig F --context C --namespace N --identity I --no-leader-election --lease-seconds 3 --max-losses-per-minute 9 --no-binder " +
      "--binder-workers 3 --refill-delay-seconds 2 --template-network-policy optional --disable-claim-events --disable-sandbox-events " +
      "--cloudevents-url https://events.example/hook?to=a --cloudevents-secret-file S --cloudevents-source //cluster-1 " +
      "--port 8081 --host ::1 --log-level debug --otlp-endpoint http://traces:4318 --allowed-label-domains a.example,b.example --allowed-annotation-domains c.example --help";
    expect(readOptions(args.split(" "))).toEqual({
      kubeconfig: "F",
      context: "C",
      namespace: "N",
      identity: "I",
      host: "::1",
      help: true,
      logLevel: "debug",
      otlpEndpoint: "http://traces:4318",
      allowedLabelDomains: ["a.example", "b.example"],
      templateNetworkPolicy: "optional",
      allowedAnnotationDomains: ["c.example"],
      leaderElection: false,
      claimEvents: false,
      sandboxEvents: false,
      cloudEvents: { url: "https://events.example/hook?to=a", secretFile: "S", source: "//cluster-1" },
      binder: false,
      workers: 3,
      refillDelayMs: 2000,
      leaseSeconds: 3,
      maxLossesPerMinute: 9,
      port: 8081,
    });
    const named = [...HELP.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name);
    expect(named).toEqual(args.match(/--[a-z-]+/g)?.filter((name) => name !== "--help"));
  });

  test.for(
    [
      ["--port 70000", 'Cannot listen on port "70000"'],
      ["--port x", 'Cannot listen on port "x"'],
      ["--lease-seconds 2", 'Cannot hold a Lease for seconds "2"'],
      ["--binder-workers 0", 'Cannot serve claims at once: "0"'],
      ["--refill-delay-seconds x", 'Cannot delay refills for seconds "x"'],
      ["--log-level loud", 'Cannot log at level "loud"'],
      ["--context C", "it needs --kubeconfig"],
      ["--cloudevents-url https://events.example", "--cloudevents-url needs --cloudevents-secret-file"],
      ["--cloudevents-secret-file F", "--cloudevents-secret-file needs --cloudevents-url"],
      ["--cloudevents-secret-file F --cloudevents-url ftp://x", "must be an http or https URL"],
      ["--cloudevents-secret-file F --cloudevents-url http://u:p@x", "without a password"],
      ["--cloudevents-secret-file F --cloudevents-url http://x --cloudevents-source=", 'CloudEvents from ""'],
      ["--nonsense", "Unknown option '--nonsense'"],
      ["stray", "Unexpected argument 'stray'"],
    ] as const,
  )("refuses %s", ([args, message]) => {
    expect(() => readOptions(args.split(" "))).toThrow(message);
  });
});

test("rbac.yaml names the Lease that the keeper holds", () => {
  const path = new URL("../../deploy/keeper/rbac.yaml", import.meta.url);
  const documents = parseAllDocuments(readFileSync(path, "utf8")).map((document) => document.toJS());
  const role = documents.find(({ kind }) => kind === "Role");
  expect(role.rules.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual([KEEPER_LEASE]);
});
