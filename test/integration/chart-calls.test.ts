/** Whom processes may call that are installed by the chart: a collector of spans, a receiver of CloudEvents. @module */
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { readOptions } from "../../packages/keeper/options.ts";
import { byName, KEEPER, template } from "./chart.ts";

test("a collector of spans is known to all but the conversion hook, and hooks may reach it and nothing else", async () => {
  const endpoint = "http://collector.watching:4318";
  const flags = ["--set", `tracing.endpoint=${endpoint}`, "--set", "v1alpha1.enabled=true"];
  const [before, objects] = [
    byName(await template("--set", "v1alpha1.enabled=true")),
    byName(await template(...flags)),
  ];
  const names = Object.keys(objects).filter((name) => name.startsWith("Deployment"));
  const containerOf = (list: typeof objects, name: string) => list[name]?.["spec"].template.spec.containers[0];
  const told = names.filter((name) => containerOf(objects, name).args.includes(`--otlp-endpoint=${endpoint}`));
  expect(names.filter((name) => !told.includes(name))).toEqual(["Deployment hookbox-system/conversion"]);
  expect(told).toHaveLength(7);
  const leave = (list: typeof objects, name: string) =>
    containerOf(list, name).command?.filter((word: string) => word.startsWith("--allow-net"))[0];
  for (const name of told) {
    const had = leave(before, name);
    const isHook = had !== undefined && had !== "--allow-net";
    expect([name, leave(objects, name)]).toEqual([name, isHook ? `${had},collector.watching:4318` : had]);
  }
  const { egress } = objects["NetworkPolicy hookbox-system/hooks"]?.["spec"] ?? {};
  expect(egress).toEqual([
    { ports: [{ port: 53, protocol: "UDP" }, { port: 53, protocol: "TCP" }] },
    {
      to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "watching" } } }],
      ports: [{ port: 4318 }],
    },
  ]);
  const values = ["tracing.endpoint=https://traces.example.com", "tracing.namespace=out"];
  const elsewhere = byName(await template(...values.flatMap((value) => ["--set", value])));
  expect(elsewhere["NetworkPolicy hookbox-system/hooks"]?.["spec"].egress[1]).toEqual({
    to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "out" } } }],
    ports: [{ port: 443 }],
  });
  await expect(template("--set", "tracing.endpoint=collector")).rejects.toThrow("tracing/endpoint");
});

test("CloudEvents go out of the keeper alone, signed with a Secret that its Deno may read", async () => {
  const values = ["cloudEvents.url=https://events.example/hook", "cloudEvents.secretName=signing"];
  const flags = [...values, "cloudEvents.source=//cluster-1"].flatMap((value) => ["--set", value]);
  const [before, objects] = [byName(await template()), byName(await template(...flags))];
  const changed = Object.keys(objects).filter((name) => !isDeepStrictEqual(objects[name], before[name]));
  expect(changed).toEqual([KEEPER]);
  const { containers: [container], volumes } = objects[KEEPER]?.["spec"].template.spec;
  const file = "/var/run/secrets/hookbox-cloudevents";
  expect(container.args).toEqual([
    ...before[KEEPER]?.["spec"].template.spec.containers[0].args,
    "--cloudevents-url=https://events.example/hook",
    `--cloudevents-secret-file=${file}/secret`,
    "--cloudevents-source=//cluster-1",
  ]);
  expect(readOptions(container.args)).toMatchObject({ cloudeventsSecretFile: `${file}/secret` });
  expect(container.volumeMounts).toEqual([{ name: "cloudevents", mountPath: file, readOnly: true }]);
  expect(volumes).toEqual([{ name: "cloudevents", secret: { secretName: "signing" } }]);
  expect(container.command.find((word: string) => word.startsWith("--allow-read"))).toContain("=/var/run/secrets,");
  await expect(template("--set", values[0] ?? "")).rejects.toThrow("cloudEvents.secretName");
  await expect(template("--set", "cloudEvents.url=events")).rejects.toThrow("cloudEvents/url");
});
