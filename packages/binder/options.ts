/** The binder's command line, which is part of the keeper's. Reads nothing but its arguments. @module */
import { parseArgs } from "node:util";
import {
  ANNOTATION_DOMAINS_HELP,
  ANY_ANNOTATION_DOMAIN,
  DEFAULT_LABEL_DOMAINS,
  readAnnotationDomains,
  readDomains,
} from "../api/claims/podmetadata.ts";
import { TEMPLATE_POLICY, type TemplatePolicy } from "../api/templatepolicy.ts";
import { LOG_LEVELS, type LogLevel } from "../process/log.ts";
import { OTLP_HELP, readEndpoint } from "../process/tracingoption.ts";

/** What the command line says; absent means that the environment decides. */
export interface BinderOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Namespace of the Lease. */
  namespace: string | undefined;
  /** Name under which the Lease is held; undefined: the Pod's, or outside a cluster one that nobody has had before. */
  identity: string | undefined;
  leaderElection: boolean;
  /** Claims that the binder serves at once. */
  workers: number;
  /** Longest time until the binder tells a pool of members that are missing, in milliseconds. */
  refillDelayMs: number;
  /** 0: none. */
  port: number;
  host: string | undefined;
  logLevel: LogLevel;
  /** Base URL of the collector of spans; undefined: there is none. */
  otlpEndpoint: string | undefined;
  /** Domains of label keys that claims may use. */
  allowedLabelDomains: string[];
  /** Whether sandboxes start without the NetworkPolicy of their template. */
  templateNetworkPolicy: TemplatePolicy;
  /** Domains of annotation keys that claims may use; undefined: any that is not reserved. */
  allowedAnnotationDomains: string[] | undefined;
  help: boolean;
}

/** What the binder takes; the keeper, which can have it in its process, takes all of it, too. */
export const OPTIONS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  namespace: { type: "string" },
  identity: { type: "string" },
  "no-leader-election": { type: "boolean", default: false },
  "binder-workers": { type: "string", default: "40" },
  "refill-delay-seconds": { type: "string", default: "5" },
  port: { type: "string", default: "0" },
  host: { type: "string" },
  "log-level": { type: "string", default: "info" },
  "otlp-endpoint": { type: "string", default: "" },
  "allowed-label-domains": { type: "string", default: DEFAULT_LABEL_DOMAINS.join() },
  [TEMPLATE_POLICY.flag]: { type: "string", default: "required" },
  "allowed-annotation-domains": { type: "string", default: ANY_ANNOTATION_DOMAIN },
  help: { type: "boolean", default: false },
} as const;

export const BINDING_HELP =
  `  --binder-workers N     claims that are served at once (default 40); of one namespace half as many
  --refill-delay-seconds S
                         longest time until a pool that has handed over members makes new ones (default 5). It is
                         shorter where the pool runs low, or where no claims wait
  --template-network-policy W
                         required: a claim gets a Sandbox only while the NetworkPolicy of its template is in force;
                         optional: a claim gets a Sandbox without it, too (default required). Give the hook for pools
                         the same value
`;

export const IDENTITY_HELP =
  `  --identity I           name under which the Lease is held: one that is restarted under its name takes it again at once
                         (default: this Pod's name; with --kubeconfig one that is new at each start)
`;

export const TRACING_HELP = `  --otlp-endpoint URL    ${OTLP_HELP};
                         for claims whose clients trace (default: none)
`;

export const ANNOTATIONS_HELP = `  --allowed-annotation-domains D,E
                         ${ANNOTATION_DOMAINS_HELP.join("\n" + " ".repeat(25))} (default ${ANY_ANNOTATION_DOMAIN})
`;

export const HELP = `Usage: hookbox binder [options]

Gives claims their Sandboxes: a member of the claim's pool, or one made for it. A second binder is ready to take over
within seconds. The keeper runs a binder in its own process unless it is told --no-binder.

Options:
  --kubeconfig F         which cluster (default: the one this Pod runs in)
  --context C            context of the kubeconfig (default: its current one)
  --namespace N          namespace of the Lease hookbox-binder (default: this Pod's; with --kubeconfig hookbox-system,
                         or default where that does not exist)
${IDENTITY_HELP}  --no-leader-election   act at once, Lease or not: for a single binder
${BINDING_HELP}  --port P               port for /healthz, /readyz and /metrics (default 0: none)
  --host H               address to listen on (default 0.0.0.0; with --kubeconfig 127.0.0.1)
  --log-level L          debug, info, warn or error (default info)
${TRACING_HELP}  --allowed-label-domains D,E
                         domains of label keys that claims may use, as the hook for claims has them
                         (default ${DEFAULT_LABEL_DOMAINS.join()})
${ANNOTATIONS_HELP}`;

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
export function readOptions(args: string[]): BinderOptions {
  return optionsOf(parseArgs({ args, options: OPTIONS }).values);
}

/** Reads the values of {@link OPTIONS}. @throws {RangeError} if one makes no sense */
export function optionsOf(values: ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"]): BinderOptions {
  const { kubeconfig, context, namespace, identity, host, help } = values;
  if (context !== undefined && kubeconfig === undefined) {
    throw new RangeError(`Cannot use context "${context}": it needs --kubeconfig`);
  }
  const logLevel = LOG_LEVELS.find((level) => level === values["log-level"]);
  if (!logLevel) throw new RangeError(`Cannot log at level "${values["log-level"]}": use debug, info, warn or error`);
  return {
    ...{ kubeconfig, context, namespace, identity, host, help, logLevel },
    allowedLabelDomains: readDomains(values["allowed-label-domains"]),
    allowedAnnotationDomains: readAnnotationDomains(values["allowed-annotation-domains"]),
    templateNetworkPolicy: TEMPLATE_POLICY.read(values[TEMPLATE_POLICY.flag]),
    leaderElection: !values["no-leader-election"],
    otlpEndpoint: readEndpoint(values["otlp-endpoint"]),
    workers: wholeNumber(values["binder-workers"], "serve claims at once:", 1, 1000),
    refillDelayMs: wholeNumber(values["refill-delay-seconds"], "delay refills for seconds", 0, 3600) * 1000,
    port: wholeNumber(values.port, "listen on port", 0, 65535),
  };
}

/** Reads a whole number. @throws {RangeError} if it is none, or not in the range */
export function wholeNumber(text: string, action: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`Cannot ${action} "${text}": it is not a whole number from ${least} to ${most}`);
}
