/** The conversion hook put together with its real flags: asked over TLS by whom its certificate convinces. */
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type CertificateRequest, type KeyedCertificate, makeCertificate } from "../../dev/cluster/certificates.ts";
import { untilThere } from "../eventually.ts";
import { startMain } from "../mainprocess.ts";
import { makeTempFolder } from "../tempfolder.ts";

let authority: KeyedCertificate;

beforeAll(async () => {
  authority = await makeCertificate({ commonName: "authority", use: "authority" });
});

/** Puts a new certificate into a folder. */
async function renew(folder: string, signer = authority): Promise<void> {
  const request: CertificateRequest = { commonName: "hook", use: "server", ipAddresses: ["127.0.0.1"] };
  const { certificate, key } = await makeCertificate(request, signer);
  writeFileSync(join(folder, "tls.key"), key);
  writeFileSync(join(folder, "tls.crt"), certificate);
}

async function start(runtime: "node" | "deno", ...flags: string[]) {
  const folder = makeTempFolder();
  await renew(folder);
  const files = ["--tls-cert-file", join(folder, "tls.crt"), "--tls-private-key-file", join(folder, "tls.key")];
  const before = runtime === "deno" ? ["run", "--quiet", "--allow-net=127.0.0.1", `--allow-read=${folder}`] : [];
  const args = [...before, "hooks/conversion/main.ts", "--host", "127.0.0.1", "--port", "0", ...files, ...flags];
  const main = await startMain(runtime, args, "Listening");
  return { main, folder, port: Number(main.said("Listening")[0]?.["port"]) };
}

function ask(port: number, body: unknown, ca = authority.certificate): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/convert", method: "POST", ca, agent: false } as const;
    const sent = request(options, (answer) => {
      text(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
    });
    sent.once("error", reject);
    sent.end(JSON.stringify(body));
  });
}

const REVIEW = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "ConversionReview",
  request: {
    uid: "ask-1",
    desiredAPIVersion: "extensions.agents.x-k8s.io/v1beta1",
    objects: [{
      apiVersion: "extensions.agents.x-k8s.io/v1alpha1",
      kind: "SandboxClaim",
      metadata: { name: "it" },
      spec: { sandboxTemplateRef: { name: "python" }, warmpool: "pool" },
    }],
  },
};

describe.for(["node", "deno"] as const)("on %s", (runtime) => {
  test("it converts for whom its certificate convinces, and ends in peace", async () => {
    const { main, port } = await start(runtime);
    const { status, text } = await ask(port, REVIEW);
    expect(status).toBe(200);
    const { result, convertedObjects } = JSON.parse(text).response;
    expect(result).toEqual({ status: "Success" });
    expect(convertedObjects[0].spec).toEqual({ warmPoolRef: { name: "pool" } });
    const stranger = await makeCertificate({ commonName: "stranger", use: "authority" });
    await expect(ask(port, REVIEW, stranger.certificate)).rejects.toThrow(/certificate|signature/);
    expect(await main.stop()).toBe(0);
  });
});

describe.for(["node", "deno"] as const)("a new certificate, on %s", (runtime) => {
  test("of the same authority is used without a restart, and again", async () => {
    const { main, folder, port } = await start(runtime, "--tls-renew-delay-seconds", "0");
    for (const times of [1, 2]) {
      await renew(folder);
      await untilThere(times, () => main.said("Using a new certificate"));
      expect((await ask(port, REVIEW)).status).toBe(200);
    }
    expect(await main.stop()).toBe(0);
  });

  test("of another authority: who trusts both is answered before and after", async () => {
    const { main, folder, port } = await start(runtime, "--tls-renew-delay-seconds", "0");
    const next = await makeCertificate({ commonName: "next", use: "authority" });
    const both = authority.certificate + next.certificate;
    expect((await ask(port, REVIEW, both)).status).toBe(200);
    await renew(folder, next);
    await untilThere(1, () => main.said("Using a new certificate"));
    expect((await ask(port, REVIEW, both)).status).toBe(200);
    await expect(ask(port, REVIEW)).rejects.toThrow(/certificate|signature/);
    expect(await main.stop()).toBe(0);
  });

  test("is not used before API servers had the time to learn of its authority", async () => {
    const { main, folder, port } = await start(runtime, "--tls-renew-delay-seconds", "3600");
    await renew(folder, await makeCertificate({ commonName: "next", use: "authority" }));
    // It looks at its files every two seconds.
    await sleep(4000);
    expect((await ask(port, REVIEW)).status).toBe(200);
    expect(main.said("Using a new certificate")).toEqual([]);
    expect(await main.stop()).toBe(0);
  });
});

test("without a certificate it says what it lacks", async () => {
  const main = await startMain("node", ["hooks/conversion/main.ts", "--tls-cert-file", "/nowhere/tls.crt"], undefined);
  expect(await main.ended).toBe(1);
  expect(main.log()).toContain("Cannot read /nowhere/tls.crt: ENOENT");
});
