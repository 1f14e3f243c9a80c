/**
 * Runs the conversion hook as a process that API servers call over TLS: `hooks/conversion/main.ts --tls-cert-file F
 * --tls-private-key-file F`. If the certificate changes, the process uses the new one without a restart. @module
 */
import { readCommandLine, type Values } from "../../packages/process/flags.ts";
import { createLog } from "../../packages/process/log.ts";
import { serve, type Server } from "../../packages/process/serve.ts";
import { followTLSFiles, readTLSFiles, type TLSFiles } from "../../packages/process/tlsfiles.ts";
import { runServer } from "../../packages/webhook/runhook.ts";
import { createConversionApp } from "./app.ts";
import { CONVERSION } from "./options.ts";

const LOOK_MS = 2000;

async function start(settings: Values<typeof CONVERSION.flags>): Promise<Server> {
  const { host, port, logLevel, tlsRenewDelaySeconds, tlsCertFile, tlsPrivateKeyFile } = settings;
  const files: TLSFiles = { certificate: tlsCertFile, key: tlsPrivateKeyFile };
  const log = createLog(logLevel);
  const tls = readTLSFiles(files);
  let ready = true;
  const app = createConversionApp({ log, ready: () => ready });
  const server = await serve(app, { host, port, tls, log, onStopping: () => ready = false });
  const leave = followTLSFiles(files, {
    tls,
    everyMs: LOOK_MS,
    delayMs: tlsRenewDelaySeconds * 1000,
    renewed(next) {
      server.renew?.(next);
      log("info", "Using a new certificate");
    },
  });
  return { ...server, stop: () => (leave(), server.stop()) };
}

await runServer(CONVERSION, {
  read: (args, env) => readCommandLine(CONVERSION, args, env)?.values,
  start,
});
