/** What the SandboxWarmPool hook asks to see beside its members: its template. @module */
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import type { RelatedRule } from "../../lib/metacontroller.ts";

/** Asks for the pool's template, and nothing else. */
export function customizeSandboxWarmPool({ metadata: { namespace = "" }, spec }: SandboxWarmPool): RelatedRule[] {
  const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
  return [{ apiVersion, resource: "sandboxtemplates", namespace, names: [spec.sandboxTemplateRef.name] }];
}
