/** E2B's published code interpreter, connected to a runtime. @module */
import { Sandbox } from "@e2b/code-interpreter";

/** Connects the published client to the runtime at this address, without a control API. */
export function sandboxAt(sandboxUrl: string): Sandbox {
  return new Sandbox({ sandboxId: "i0123456789abcdefghij", envdVersion: "0.6.13", sandboxUrl, apiKey: "e2b_00" });
}
