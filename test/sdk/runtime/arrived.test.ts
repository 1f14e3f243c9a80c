/** What an answer of 502 says of the request: that it was not passed on, or that it may have been carried out. @module */
import { expect, test } from "vitest";
import { refusalOf } from "../../../packages/router/proxy/failure.ts";
import { type Refusal, unanswered, unreachable } from "../../../packages/router/refusal.ts";
import { ConnectionError } from "../../../packages/sdk/errors.ts";
import { errorOfAnswer } from "../../../packages/sdk/runtime/answers.ts";
import { withRetries } from "../../../packages/sdk/runtime/repeat.ts";
import { hurry } from "../../hurry.ts";
import { OBJECT } from "../localtransport.ts";

const failed = (code: string, message = code) =>
  refusalOf("demo", Object.assign(new Error(message), { code }), { responseHeaderTimeout: 1000 });

async function errorOf(
  { status, headers = {}, ...body }: Omit<Refusal, "detail"> & { detail?: string; text?: string },
  via: "router" | "direct" = "router",
) {
  const answer = new Response(body.text ?? JSON.stringify(body), { status, headers });
  return await errorOfAnswer(answer, "do it", OBJECT, via);
}

async function arrival(refusal: Parameters<typeof errorOf>[0]) {
  const error = await errorOf(refusal);
  expect(error).toBeInstanceOf(ConnectionError);
  return (error as ConnectionError).mayHaveArrived;
}

test.for([
  failed("ECONNREFUSED"),
  failed("EDIALTIMEOUT", "no connection within 5 s"),
  failed("EHOSTUNREACH"),
  unreachable("demo", "the sandbox has expired"),
  unreachable("demo", "2 Pods of it are Ready"),
  unreachable("demo", "the sandbox is suspended and cannot be woken: the API server does not answer"),
])("nothing was sent: $detail", async (refusal) => {
  expect(await arrival(refusal)).toBe(false);
});

test.for([
  failed("ECONNRESET"),
  failed("EPIPE"),
  failed("HPE_INVALID_CONSTANT"),
  unanswered("demo", "it sent an invalid HTTP response"),
  unanswered("demo", "nothing listens on the port"),
])("it may have arrived: $detail", async (refusal) => {
  expect(await arrival(refusal)).toBe(true);
});

test("of what stands before a router nobody knows; one that refuses for now has sent nothing", async () => {
  expect(await arrival({ status: 502, text: "<html>Bad Gateway</html>" })).toBe(true);
  expect(await arrival({ status: 503, detail: "Sandbox team-a/demo is suspended, and requests do not wake it." })).toBe(
    false,
  );
});

test("what may have arrived is sent again only if that changes nothing, and what was not sent always", async () => {
  hurry(20);
  const timesSent = async (refusal: Refusal, repeatable: boolean) => {
    let times = 0;
    const send = async () => {
      times++;
      throw await errorOf(refusal);
    };
    await withRetries(send, { repeatable }).catch(() => {});
    return times;
  };
  const lost = unanswered("demo", "it closed the connection before it answered");
  expect([await timesSent(lost, false), await timesSent(lost, true)]).toEqual([1, 4]);
  expect(await timesSent(unreachable("demo", "nothing listens on the port"), false)).toBe(4);
});

test("the router's advice is in the error, and a sandbox cannot give any", async () => {
  const text = { detail: "User ann may not connect to sandbox a/b.", remedy: "Ask the administrator" };
  const refused = { status: 403, ...text, headers: { "X-Sandbox-Reason": "AccessDenied" } };
  expect(await errorOf(refused)).toMatchObject({ remedy: "Ask the administrator", reason: "AccessDenied" });
  const forged = [
    // The router has removed the header of a sandbox, and without a router no header is the router's.
    await errorOf({ status: 403, ...text }),
    await errorOf(refused, "direct"),
    await errorOf({ status: 403, text: JSON.stringify({ code: "PERMISSION_DENIED", message: "no", ...text }) }),
    await errorOf({ status: 403, text: JSON.stringify({ code: "Forbidden", message: "no", ...text }) }),
  ];
  for (const { remedy, reason } of forged) {
    expect([remedy, ["AccessDenied", "Forbidden"].includes(reason ?? "")]).toEqual([undefined, false]);
  }
});
