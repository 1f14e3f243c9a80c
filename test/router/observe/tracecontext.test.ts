/** What a sandbox gets of its client's trace, and the router's part in it. @module */
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { traceOf } from "../../../packages/router/observe/observer.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { fetchFrom } from "../client.ts";
import { naming, putReady, startBackend, startRouter } from "../stage.ts";
import { untilThere } from "../../eventually.ts";

const id = "4bf92f3577b34da6a3ce929d0e0e4736";
const read = (traceparent: string) => {
  const request = { headers: { traceparent } } as unknown as IncomingMessage;
  return traceOf(request, { namespace: "team-a", name: "demo", port: 80 }, undefined);
};

test("a trace passes as it came", () => {
  const nothing = { added: [], withheld: [], span: undefined };
  expect(read(`00-${id}-00f067aa0ba902b7-01`)).toEqual({ id, ...nothing });
  expect(read(`cc-${id}-00f067aa0ba902b7-01-what-comes`)).toEqual({ id, ...nothing });
});

test.for([`ff-${id}-00f067aa0ba902b7-01`, "nonsense", ""])(
  "%s is replaced by one that nobody records",
  (traceparent) => {
    const { id: made, added, withheld } = read(traceparent);
    expect(withheld).toEqual(["traceparent", "tracestate"]);
    expect(added).toEqual(["traceparent", expect.stringMatching(new RegExp(`^00-${made}-[0-9a-f]{16}-00$`))]);
  },
);

test("has the router's own span between the client's and the sandbox's, where both are recorded", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const api = createFakeApi();
  putReady(api);
  const { port, lines, router } = await startRouter(api, { tracer: provider.getTracer("router") });
  const backend = await startBackend(({ rawHeaders, url }, answer) => {
    answer.statusCode = url === "/broken" ? 503 : 200;
    answer.end(JSON.stringify(rawHeaders.filter((_, i, all) => /^trace/i.test(all[i % 2 ? i - 1 : i] ?? ""))));
  });
  const ask = async (flags: string, path = "/a?token=secret") => {
    const headers = { ...naming(backend.port), traceparent: `00-${id}-00f067aa0ba902b7-${flags}`, tracestate: "a=b" };
    return JSON.parse((await fetchFrom(port, { path, headers })).text) as string[];
  };
  expect(await ask("00")).toEqual(["traceparent", `00-${id}-00f067aa0ba902b7-00`, "tracestate", "a=b"]);
  const [, state, , told = ""] = await ask("01");
  await ask("01", "/broken");
  await untilThere(2, () => exporter.getFinishedSpans());
  const [span, broken] = exporter.getFinishedSpans();
  expect(state).toBe("a=b");
  expect(told).toBe(`00-${id}-${span?.spanContext().spanId}-01`);
  expect(span).toMatchObject({
    name: "router GET",
    parentSpanContext: { traceId: id, spanId: "00f067aa0ba902b7" },
    attributes: {
      ...{ "k8s.namespace.name": "team-a", "sandbox.name": "demo", "server.port": backend.port },
      ...{ "http.request.method": "GET", "url.path": "/a", "http.response.status_code": 200 },
    },
  });
  expect(broken).toMatchObject({ attributes: { "http.response.status_code": 503 }, status: { code: 2 } });
  router.close();
  expect(lines.map((line) => JSON.parse(line).traceId)).toEqual([id, id, id]);
});

test("reaches the sandbox as it came, or made up, and never in two versions", async () => {
  const api = createFakeApi();
  putReady(api);
  const { port } = await startRouter(api);
  const backend = await startBackend(({ rawHeaders }, answer) => answer.end(JSON.stringify(rawHeaders)));
  const ask = async (headers: Record<string, string>) => {
    const { text } = await fetchFrom(port, { headers: { ...naming(backend.port), ...headers } });
    const raw = JSON.parse(text) as string[];
    return raw.flatMap((name, i) => /^trace/i.test(name) && i % 2 === 0 ? [`${name}: ${raw[i + 1]}`] : []);
  };
  const good = { traceparent: `00-${id}-00f067aa0ba902b7-01`, tracestate: "a=b" };
  expect(await ask(good)).toEqual([`traceparent: ${good.traceparent}`, "tracestate: a=b"]);
  expect(await ask({})).toEqual([expect.stringMatching(/^traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)]);
  const made = await ask({ traceparent: "nonsense", tracestate: "a=b" });
  expect(made).toEqual([expect.stringMatching(/^traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)]);
});
