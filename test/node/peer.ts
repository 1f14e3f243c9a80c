/** The Go controller as a process, with the webhook by which it converts `v1alpha1`. @module */
import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endGently, type ProcessRecord, startProcess, untilAnswering } from "../../dev/cluster/processes.ts";
import { readGoControllerCRDs } from "../../dev/bench/stage/gocontroller.ts";
import { makeCertificate } from "../../dev/cluster/certificates.ts";
import type { Cluster } from "../../dev/cluster/cluster.ts";
import { freePorts } from "../../dev/cluster/ports.ts";

export interface Peer {
  /** Its CRDs as JSON; of both versions, converted by it wherever it listens. */
  crds: string[];
  /** Starts it, and waits until it is ready. */
  start(cluster: Cluster): Promise<void>;
  /** Ends it; nothing if it does not run. */
  end(): Promise<void>;
}

/**
 * Prepares it; starts nothing.
 *
 * @param binary path of the controller
 * @param crds the folder of its CRDs
 * @param folder where its certificate and its log go
 */
export async function preparePeer(binary: string, crds: string, folder: string): Promise<Peer> {
  const [metrics, health, webhook] = await freePorts(3);
  const { certificate, key } = await makeCertificate({
    commonName: "localhost",
    use: "server",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
  });
  const certDir = join(folder, "peer");
  mkdirSync(certDir, { recursive: true });
  writeFileSync(join(certDir, "tls.crt"), certificate);
  writeFileSync(join(certDir, "tls.key"), key);
  const clientConfig = {
    url: `https://127.0.0.1:${webhook}/convert`,
    caBundle: Buffer.from(certificate).toString("base64"),
  };
  const conversion = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig } };
  let running: ProcessRecord | undefined;
  return {
    crds: readGoControllerCRDs(crds).map((text) => {
      const definition = JSON.parse(text);
      return JSON.stringify({ ...definition, spec: { ...definition.spec, conversion } });
    }),
    async start({ kubeconfig }) {
      running = startProcess({
        name: "peer",
        command: binary,
        args: [
          "--extensions",
          "--leader-elect=false",
          "--manage-webhook-certs=false",
          `--webhook-port=${webhook}`,
          `--webhook-cert-dir=${certDir}`,
          `--kubeconfig=${kubeconfig}`,
          `--metrics-bind-address=127.0.0.1:${metrics}`,
          `--health-probe-bind-address=127.0.0.1:${health}`,
        ],
        logFile: join(certDir, "peer.log"),
      });
      await untilAnswering(`http://127.0.0.1:${health}/readyz`, running, new AbortController().signal);
    },
    async end() {
      if (running) await endGently(running);
      running = undefined;
    },
  };
}
