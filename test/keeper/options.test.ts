import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { cloudEventsOf } from "../../packages/cloudevents/options.ts";
import { KEEPER, readOptions } from "../../packages/keeper/options.ts";
import { termOf } from "../../packages/process/flaghelp.ts";
import { KEEPER_LEASE } from "../../packages/api/installation.ts";

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
      disableClaimEvents: false,
      disableSandboxEvents: false,
      cloudeventsUrl: undefined,
      cloudeventsSecretFile: undefined,
      cloudeventsSource: "/hookbox",
      binder: true,
      binderWorkers: 40,
      binderLeaseSeconds: 5,
      routerUrl: "http://sandbox-router-svc.agent-sandbox-system:8080",
      routerTokenFile: "/var/run/secrets/hookbox/router/token",
      leaseSeconds: 15,
      maxLossesPerMinute: 600,
      port: 0,
    });
  });

  test("takes every option that the help names", () => {
    const args =
      "--kubeconfig F --context C --namespace N --identity I --no-leader-election --lease-seconds 3 --max-losses-per-minute 9 --no-binder " +
      "--binder-workers 3 --binder-lease-seconds 30 --router-url http://r --router-token-file T --template-network-policy optional --disable-claim-events --disable-sandbox-events " +
      "--cloudevents-url https://events.example/hook?to=a --cloudevents-secret-file S --cloudevents-source //cluster-1 " +
      "--port 8081 --host ::1 --log-level debug --otlp-endpoint http://traces:4318 --allowed-label-domains a.example,b.example --allowed-annotation-domains c.example";
    expect(readOptions(args.split(" "))).toEqual({
      kubeconfig: "F",
      context: "C",
      namespace: "N",
      identity: "I",
      host: "::1",
      logLevel: "debug",
      otlpEndpoint: "http://traces:4318",
      allowedLabelDomains: ["a.example", "b.example"],
      templateNetworkPolicy: "optional",
      allowedAnnotationDomains: ["c.example"],
      leaderElection: false,
      disableClaimEvents: true,
      disableSandboxEvents: true,
      cloudeventsUrl: "https://events.example/hook?to=a",
      cloudeventsSecretFile: "S",
      cloudeventsSource: "//cluster-1",
      binder: false,
      binderWorkers: 3,
      binderLeaseSeconds: 30,
      routerUrl: "http://r",
      routerTokenFile: "T",
      leaseSeconds: 3,
      maxLossesPerMinute: 9,
      port: 8081,
    });
    const named = Object.entries(KEEPER.flags).map(([name, flag]) => termOf(name, flag).split(" ")[0]);
    expect(named.sort()).toEqual(args.match(/--[a-z-]+/g)?.sort());
    expect(cloudEventsOf(readOptions(args.split(" "))!)).toEqual({
      url: "https://events.example/hook?to=a",
      secretFile: "S",
      source: "//cluster-1",
    });
    expect(cloudEventsOf(readOptions([])!)).toBeUndefined();
  });

  test.for(
    [
      ["--port 70000", 'Cannot use --port "70000"'],
      ["--port x", 'Cannot use --port "x"'],
      ["--lease-seconds 2", 'Cannot use --lease-seconds "2": use a whole number from 3 to 3600'],
      ["--binder-workers 0", 'Cannot use --binder-workers "0"'],
      ["--refill-delay-seconds=5", "Cannot use --refill-delay-seconds: it is gone since 0.3.0, "],
      ["--log-level loud", 'Cannot use --log-level "loud"'],
      ["--context C", "Cannot use --context without --kubeconfig"],
      ["--cloudevents-url https://events.example", "Cannot use --cloudevents-url without --cloudevents-secret-file"],
      ["--cloudevents-secret-file F", "Cannot use --cloudevents-secret-file without --cloudevents-url"],
      [
        "--cloudevents-secret-file F --cloudevents-url ftp://x",
        "Cannot use --cloudevents-url: use an http or https URL",
      ],
      ["--cloudevents-secret-file F --cloudevents-url http://u:p@x", "without a password"],
      [
        "--cloudevents-secret-file F --cloudevents-url http://x --cloudevents-source=",
        'Cannot use --cloudevents-source ""',
      ],
      ["--nonsense", 'Unknown option "--nonsense"'],
      ["stray", 'Unknown argument "stray"'],
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
