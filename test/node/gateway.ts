/** The chart's routes on a Gateway: requests, gRPC and the published client's gateway mode reach a sandbox. @module */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { runProgram } from "../clients/program.ts";
import { template } from "../integration/chart.ts";
import { run, until } from "../integration/kubectl.ts";
import { condition, type Loose, makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { named } from "../router/proxy/grpcclients.ts";
import { type Gateway, needsGateway, startGateway } from "./contour.ts";
import { type Installed, progress } from "./installed.ts";
import { aRuntime, COMMANDS, naming, SERVING } from "./runtimepods.ts";

const GRPC_HOST = "grpc.sandboxes.example";

/** For use in `describe`, on an installation whose router asks for no token, and whose node has the runtime's image. */
export function testGateway({ cluster, json }: Installed): void {
  beforeAll(() => needsGateway(progress), 1_800_000);

  test("requests, gRPC calls and the published Python client reach a sandbox through the chart's routes", async () => {
    const gateway = await startGateway(cluster(), progress);
    onTestFinished(gateway.stop);
    for (const route of await routesTo(gateway)) {
      const { kind, metadata: { name, namespace } } = route;
      await run(cluster(), ["apply", "--server-side", "--validate=strict", "-f", "-"], JSON.stringify(route));
      const parents = await until(
        async () => (await json("-n", namespace, "get", kind, name)).status?.parents ?? [],
        (all) => all.length > 0,
      );
      for (const type of ["Accepted", "ResolvedRefs"]) {
        expect(condition({ status: parents[0] }, type), kind).toMatchObject({ status: "True" });
      }
    }
    const ns = await makeNamespace(cluster());
    await ns.apply(aRuntime("box"), aTemplate("p", {}, SERVING), aPool("p", 1));
    await ns.untilReason("box", "DependenciesReady");
    await untilFull(ns, "p");

    const answer = await fetch(`http://${gateway.address}/`, { headers: naming(ns, "box", COMMANDS) });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect((await execute(gateway, ns)).stdout).toEqual(new TextEncoder().encode("42\n"));
    expect(await runProgram(ns, "gateway", gateway)).toMatchObject({
      written: { stdout: "hello", stderr: "", exit_code: 0 },
      text: "hello",
    });
  });
}

/** The chart's routes, for a router whose requests and gRPC calls come by the Gateway. */
async function routesTo({ name, namespace }: Gateway): Promise<Loose[]> {
  const values = ["httpRoute", "grpcRoute"].flatMap((route) => [
    `router.${route}.enabled=true`,
    `router.${route}.parentRefs[0].name=${name}`,
    `router.${route}.parentRefs[0].namespace=${namespace}`,
  ]);
  const set = [...values, `router.grpcRoute.hostnames={${GRPC_HOST}}`].flatMap((value) => ["--set", value]);
  return (await template(...set)).filter(({ kind }) => /^(HTTP|GRPC)Route$/.test(kind));
}

/** Runs a command in the sandbox by gRPC. */
function execute({ address }: Gateway, ns: Namespace) {
  const transport = createGrpcTransport({
    baseUrl: `http://${GRPC_HOST}`,
    interceptors: [named(naming(ns, "box", 9090))],
    // The Gateway chooses the route by the host, which has no address here.
    nodeOptions: { lookup: (_host, _options, callback) => callback(null, [{ address, family: 4 }]) },
  });
  return createClient(ProcessService, transport).execute({ config: { command: ["sh", "-c", "echo $((6 * 7))"] } });
}
