/** The chart renews the conversion hook's certificate, and API servers trust both the old and the new one. @module */
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { templateOn } from "./chart.ts";
import { run } from "./kubectl.ts";
import { type Loose, makeNamespace } from "./namespace.ts";
import { type BareCluster, shared } from "./shared.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const NAME = "hookbox-conversion-tls";
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const decoded = (text: string) => Buffer.from(text, "base64").toString();
const authorities = ({ data }: Loose) => decoded(data["ca.crt"]).match(PEM)!.map((pem) => new X509Certificate(pem));
const leaf = ({ data }: Loose) => new X509Certificate(decoded(data["tls.crt"]));
const isTrusted = (by: Loose, of: Loose) => authorities(by).some((authority) => leaf(of).verify(authority.publicKey));

test("an upgrade keeps the certificate until it is old, and a new one is trusted in addition to the one before", async () => {
  const { name: namespace } = await makeNamespace(cluster);
  /** The Secret, and what the CRDs have API servers trust, as an upgrade would make them now. */
  const rendered = async (...values: string[]) => {
    const set = ["v1alpha1.enabled=true", ...values].flatMap((value) => ["--set", value]);
    const objects = await templateOn(cluster, "--namespace", namespace, ...set);
    const secret = objects.find(({ kind, metadata }) => kind === "Secret" && metadata.name === NAME)!;
    const bundles = objects.filter(({ kind }) => kind === "CustomResourceDefinition")
      .map(({ spec }) => spec.conversion.webhook.clientConfig.caBundle);
    expect(new Set(bundles)).toEqual(new Set([secret["data"]["ca.crt"]]));
    return secret;
  };
  const store = (secret: Loose) => run(cluster, ["apply", "-f", "-"], JSON.stringify(secret));
  const first = await rendered();
  expect(authorities(first)).toHaveLength(1);
  expect(isTrusted(first, first)).toBe(true);
  // As an earlier version has made it, which noted no time.
  const { metadata: { annotations: _, ...metadata }, ...rest } = first;
  await store({ ...rest, metadata });
  expect((await rendered())["data"]).toEqual(first["data"]);

  const second = await rendered("v1alpha1.certificate.renewAfterDays=0");
  expect(leaf(second).fingerprint256).not.toBe(leaf(first).fingerprint256);
  expect([isTrusted(second, second), isTrusted(second, first), isTrusted(first, second)]).toEqual([true, true, false]);
  await store(second);
  expect((await rendered())["data"]).toEqual(second["data"]);

  const third = await rendered("v1alpha1.certificate.renewAfterDays=0", "v1alpha1.certificate.days=100");
  expect(authorities(third)).toHaveLength(2);
  expect([isTrusted(third, third), isTrusted(third, second), isTrusted(third, first)]).toEqual([true, true, false]);
  const lasts = Date.parse(leaf(third).validTo) - Date.parse(leaf(third).validFrom);
  expect(Math.round(lasts / 86_400_000)).toBe(100);
});
