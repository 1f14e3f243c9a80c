/** The options of the conversion hook. @module */
import { flag, number, type Program, TEXT } from "../../packages/process/flags.ts";
import { SERVER_FLAGS } from "../../packages/webhook/serveroptions.ts";

const since = "0.2.0";
const { host, port, "log-level": logLevel } = SERVER_FLAGS;

export const CONVERSION = {
  name: "hooks/conversion/main.ts",
  about: "Converts objects between v1alpha1 and v1beta1, for API servers.",
  flags: {
    port: { ...port, default: "8443" },
    host,
    "log-level": logLevel,
    "tls-cert-file": flag(TEXT, {
      help: "certificate, PEM; a new one is used without a restart",
      ...{ since, placeholder: "F", default: "/tls/tls.crt" },
    }),
    "tls-private-key-file": flag(TEXT, { help: "its key, PEM", since, placeholder: "F", default: "/tls/tls.key" }),
    "tls-renew-delay-seconds": flag(number(), {
      help: "how long API servers have to learn of a new certificate's authority before it is used",
      ...{ since: "0.3.0", placeholder: "S", default: "60" },
    }),
  },
} satisfies Program;
