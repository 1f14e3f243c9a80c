/** Mutants of how hooks, binder and keeper are put together: what does not reach what it is for. @module */
import type { Mutant } from "./mutant.ts";

const HOOKS_TEST = ["test/wiring/hooks.test.ts"];
const DEPLOYS_TEST = ["test/deploys/baddeploys.test.ts"];
const BINDER_TEST = ["test/wiring/binder.test.ts"];
const KEEPER_TEST = ["test/wiring/keeper.test.ts"];

export const WIRING: readonly Mutant[] = [
  {
    name: "the budget of losses reaches no hook",
    file: "lib/runhook.ts",
    from: "{ log, metrics, losses, ready:",
    to: "{ log, metrics, ready:",
    tests: HOOKS_TEST,
  },
  {
    name: "--max-losses-per-minute sets nothing",
    file: "lib/runhook.ts",
    from: "perMinute: settings.maxLossesPerMinute",
    to: "perMinute: 600",
    tests: HOOKS_TEST,
  },
  {
    name: "answers are not counted against the budget",
    file: "lib/app.ts",
    from: "read, at, settings.losses.spend)",
    to: "read, at)",
    tests: HOOKS_TEST,
  },
  {
    name: "--allowed-label-domains does not reach the hooks",
    file: "lib/runhook.ts",
    from: 'values["allowed-label-domains"].split(",")',
    to: '"example.com".split(",")',
    tests: HOOKS_TEST,
  },
  {
    name: "the Sandbox hook has no reasons that are looked at",
    file: "hooks/sandbox/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: DEPLOYS_TEST,
  },
  {
    name: "the claim hook has no reasons that are looked at",
    file: "hooks/sandboxclaim/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: DEPLOYS_TEST,
  },
  {
    name: "the template hook has no reasons that are looked at",
    file: "hooks/sandboxtemplate/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: DEPLOYS_TEST,
  },
  {
    name: "the pool hook has no reasons that are looked at",
    file: "hooks/sandboxwarmpool/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: DEPLOYS_TEST,
  },
  {
    name: "the binder serves without a Lease",
    file: "binder/run.ts",
    from: "{ ...options, ...lease }",
    to: "{ ...options, ...lease, leaderElection: false }",
    tests: BINDER_TEST,
  },
  {
    name: "a term of the binder does not end with its Lease",
    file: "binder/run.ts",
    from: "await serve(leading);",
    to: "await serve(signal);",
    tests: BINDER_TEST,
  },
  {
    name: "the binder's --allowed-label-domains sets nothing",
    file: "binder/options.ts",
    from: 'labelDomains: values["allowed-label-domains"].split',
    to: "labelDomains: DEFAULT_LABEL_DOMAINS.join().split",
    tests: BINDER_TEST,
  },
  {
    name: "one namespace may have all the binder's workers",
    file: "binder/bind.ts",
    from: "Math.ceil(workers / 2)",
    to: "workers",
    tests: BINDER_TEST,
  },
  {
    name: "what the keeper has begun goes on when its Lease is lost",
    file: "keeper/run.ts",
    from: "{ signal: leading, userAgent",
    to: "{ signal, userAgent",
    tests: KEEPER_TEST,
  },
  {
    name: "the keeper's duties do not end with its Lease",
    file: "keeper/run.ts",
    from: "binding, onListed }, leading),",
    to: "binding, onListed }, signal),",
    tests: KEEPER_TEST,
  },
  {
    name: "the keeper's binder serves on when the keeper's Lease is lost",
    file: "keeper/run.ts",
    from: "metrics.binder, leading)]",
    to: "metrics.binder, signal)]",
    tests: KEEPER_TEST,
  },
  {
    name: "--disable-claim-events sets nothing",
    file: "keeper/run.ts",
    from: "metrics, claimEvents, instance",
    to: "metrics, claimEvents: true, instance",
    tests: KEEPER_TEST,
  },
  {
    name: "the keeper judges claims by other domains than it is told",
    file: "keeper/run.ts",
    from: "keep(api, { builders, labelDomains,",
    to: 'keep(api, { builders, labelDomains: ["example.com"],',
    tests: KEEPER_TEST,
  },
  {
    name: "claims that have expired stay",
    file: "keeper/keep.ts",
    from: "      queue(expiryDuty(api, claimReport, CLAIM_EXPIRY)),\n",
    to: "",
    tests: KEEPER_TEST,
  },
  {
    name: "claims are judged by the expiry of Sandboxes",
    file: "keeper/keep.ts",
    from: "judge: claimExpiryVerdict",
    to: "judge: sandboxExpiryVerdict",
    tests: KEEPER_TEST,
  },
  {
    name: "Sandboxes are listed before claims",
    file: "keeper/watches.ts",
    from: "claimsListed.promise.then(",
    to: "Promise.resolve().then(",
    tests: ["test/keeper/watches.test.ts"],
  },
  {
    name: "a leader that ends keeps its Lease",
    file: "kube/elected.ts",
    from: "signal: ending, userAgent",
    to: "signal, userAgent",
    tests: KEEPER_TEST,
  },
  {
    name: "a request for the Lease may take longer than the Lease lasts",
    file: "kube/elected.ts",
    from: "(termSeconds * 1000) / 5",
    to: "(termSeconds * 1000) * 5",
    tests: KEEPER_TEST,
  },
];
