/** Defines options that several processes share. @module */
import { DEFAULT_LABEL_DOMAINS } from "../api/claims/podmetadata.ts";
import { TEMPLATE_POLICIES } from "../api/templatepolicy.ts";
import { choice, flag, type FlagType, HTTP_URL, LIST, oneOf } from "./flags.ts";
import { parseHosts } from "./hosts.ts";
import { LOG_LEVELS } from "./log.ts";

/** The option `--log-level`. */
export const LOG_LEVEL = flag(choice(LOG_LEVELS, "L"), {
  help: `least important lines that are logged: ${oneOf(LOG_LEVELS)}`,
  since: "0.1.0",
  default: "info",
});

/** Creates the option `--otlp-endpoint`. @param traced which spans are sent, for the help: `for claims whose clients trace` */
export function otlpEndpoint(traced: string) {
  return flag(HTTP_URL, {
    help: `collector that spans are sent to, by OTLP over HTTP, such as http://collector:4318; ${traced}`,
    since: "0.3.0",
    otherwise: "none",
  });
}

/** The option `--allowed-hosts`. */
export const ALLOWED_HOSTS = flag({ ...LIST, placeholder: "H,I", read: parseHosts }, {
  help: "names besides localhost that requests without a token may use over loopback",
  since: "0.1.0",
  default: "",
});

const DOMAINS: FlagType<string[]> = { ...LIST, placeholder: "D,E", allowed: "domains with commas between them" };
/** All domains except those of Kubernetes and hookbox, as the contract requires. */
const ANY_DOMAIN = "*";
const DOMAINS_OR_ANY: FlagType<string[] | undefined> = {
  ...DOMAINS,
  read: (text, refuse) => text.trim() === ANY_DOMAIN ? undefined : DOMAINS.read(text, refuse),
};

/** Help text of options that must have the same value in hooks, binder and keeper. deploy/ sets the variable in all of them. */
const ALIKE = "Hooks, binder and keeper need the same value; deploy/ takes it from the ConfigMap agent-sandbox-config";

/** Options of what claims may add to Pods. */
export const CLAIM_METADATA_FLAGS = {
  "allowed-label-domains": flag(DOMAINS, {
    help: `domains of label keys that claims may add to Pods. ${ALIKE}`,
    since: "0.1.0",
    env: "HOOKBOX_ALLOWED_LABEL_DOMAINS",
    default: DEFAULT_LABEL_DOMAINS.join(),
  }),
  "allowed-annotation-domains": flag(DOMAINS_OR_ANY, {
    help:
      "domains of annotation keys that claims may add to Pods. Other software acts on annotations: name the domains " +
      `that claims need; ${ANY_DOMAIN}: any but Kubernetes' and ours. ${ALIKE}`,
    since: "0.3.0",
    env: "HOOKBOX_ALLOWED_ANNOTATION_DOMAINS",
    default: ANY_DOMAIN,
  }),
};

/** The option `--template-network-policy`. */
export const TEMPLATE_NETWORK_POLICY = flag(choice(TEMPLATE_POLICIES, "W"), {
  help:
    "required: no sandbox is created, and no claim gets one, while the NetworkPolicy of its template is missing or out of " +
    `date; optional: sandboxes start without it, too. ${ALIKE}`,
  since: "0.3.0",
  env: "HOOKBOX_TEMPLATE_NETWORK_POLICY",
  default: "required",
});
