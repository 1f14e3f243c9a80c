/**
 * The conversion hook as a process, which API servers ask over TLS: `hooks/conversion/main.ts --tls-cert-file F
 * --tls-private-key-file F`. It uses a new certificate without a restart. @module
 */
import { createLog } from "../../packages/process/log.ts";
import { serve, type Server } from "../../packages/process/serve.ts";
import { followTLSFiles, readTLSFiles, type TLSFiles } from "../../packages/process/tlsfiles.ts";
import { numberOption, type Options, optionsHelp, readOptions, textOption } from "../../packages/webhook/options.ts";
import { runServer } from "../../packages/webhook/runhook.ts";
import { SERVER_OPTIONS, type ServerSettings } from "../../packages/webhook/serveroptions.ts";
import { createConversionApp } from "./app.ts";

type Settings = Pick<ServerSettings, "host" | "port" | "logLevel"> & TLSFiles & { delaySeconds: number };

const { host, port, logLevel } = SERVER_OPTIONS;
const OPTIONS: Options<Settings> = {
  ...{ host, port: { ...port, default: "8443" }, logLevel },
  certificate: textOption({
    ...{ flag: "tls-cert-file", placeholder: "F", default: "/tls/tls.crt" },
    help: "certificate, PEM; a new one is used without a restart",
  }),
  key: textOption({
    ...{ flag: "tls-private-key-file", placeholder: "F", default: "/tls/tls.key" },
    help: "its key, PEM",
  }),
  delaySeconds: numberOption({
    ...{ flag: "tls-renew-delay-seconds", placeholder: "N", default: "60" },
    help: "how long API servers have to learn of a new certificate's authority before it is used",
  }),
};

const LOOK_MS = 2000;

async function start({ host, port, logLevel, delaySeconds, ...files }: Settings): Promise<Server> {
  const log = createLog(logLevel);
  const tls = readTLSFiles(files);
  let ready = true;
  const app = createConversionApp({ log, ready: () => ready });
  const server = await serve(app, { host, port, tls, log, onStopping: () => ready = false });
  const leave = followTLSFiles(files, {
    tls,
    everyMs: LOOK_MS,
    delayMs: delaySeconds * 1000,
    renewed(next) {
      server.renew?.(next);
      log("info", "Using a new certificate");
    },
  });
  return { ...server, stop: () => (leave(), server.stop()) };
}

await runServer({
  usage: "hooks/conversion/main.ts [options]\n\nConverts objects between v1alpha1 and v1beta1, for API servers.",
  help: `Options:\n${optionsHelp(OPTIONS)}\n  --help                         this text`,
  read: (args) => readOptions(args, OPTIONS),
  start: ({ settings }) => start(settings),
});
