/**
 * The conversion hook as a process, which API servers ask over TLS: `hooks/conversion/main.ts --tls-cert-file F
 * --tls-private-key-file F`. It ends when its certificate has changed, to be started with the new one. @module
 */
import { createLog } from "../../packages/process/log.ts";
import { exit, serve, type Server } from "../../packages/process/serve.ts";
import { onCertificateChange, readTLSFiles, type TLSFiles } from "../../packages/process/tlsfiles.ts";
import { type Options, optionsHelp, readOptions, textOption } from "../../packages/webhook/options.ts";
import { runServer } from "../../packages/webhook/runhook.ts";
import { SERVER_OPTIONS, type ServerSettings } from "../../packages/webhook/serveroptions.ts";
import { createConversionApp } from "./app.ts";

type Settings = Pick<ServerSettings, "host" | "port" | "logLevel"> & TLSFiles;

const { host, port, logLevel } = SERVER_OPTIONS;
const OPTIONS: Options<Settings> = {
  ...{ host, port: { ...port, default: "8443" }, logLevel },
  certificate: textOption({
    ...{ flag: "tls-cert-file", placeholder: "F", default: "/tls/tls.crt" },
    help: "certificate, PEM; the process ends when it changes, to be started with the new one",
  }),
  key: textOption({
    ...{ flag: "tls-private-key-file", placeholder: "F", default: "/tls/tls.key" },
    help: "its key, PEM",
  }),
};

const LOOK_MS = 2000;
/** Replicas see a new certificate at about the same time, and are not to end together. */
const APART_MS = 10_000;

async function start({ host, port, logLevel, ...files }: Settings): Promise<Server> {
  const log = createLog(logLevel);
  const tls = readTLSFiles(files);
  let ready = true;
  const app = createConversionApp({ log, ready: () => ready });
  const server = await serve(app, { host, port, tls, log, onStopping: () => ready = false });
  const endSoon = () => {
    log("info", "The certificate has changed: ending soon, to be started anew");
    setTimeout(() => server.stop().then(() => exit(0)), Math.random() * APART_MS);
  };
  const leave = onCertificateChange(files, tls.cert, endSoon, LOOK_MS);
  return { ...server, stop: () => (leave(), server.stop()) };
}

await runServer({
  usage: "hooks/conversion/main.ts [options]\n\nConverts objects between v1alpha1 and v1beta1, for API servers.",
  help: `Options:\n${optionsHelp(OPTIONS)}\n  --help                         this text`,
  read: (args) => readOptions(args, OPTIONS),
  start: ({ settings }) => start(settings),
});
