/** A gauge of the templates whose NetworkPolicy is not in force. @module */
import { Gauge, type Registry } from "prom-client";
import type { Problem } from "../../api/keeperreports.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import { policyProblemOf } from "../../api/templatepolicy.ts";
import type { EventHandler } from "../../kube/watch.ts";
import { labelValue } from "../../process/observability.ts";

/** A template whose NetworkPolicy is not in force. */
export interface MissingPolicy {
  namespace: string;
  template: string;
  state: Problem["state"];
}

/** Creates the record of these templates, which reads the annotation that the keeper sets on them. */
export function createPolicyBook(): EventHandler<SandboxTemplate> & { faults(): Iterable<MissingPolicy> } {
  const missing = new Map<string, MissingPolicy>();
  return {
    observe({ metadata }) {
      const { namespace = "", name, uid = "" } = metadata;
      const problem = policyProblemOf(metadata);
      if (problem) missing.set(uid, { namespace, template: name, state: problem.state });
      else missing.delete(uid);
    },
    gone: (uid) => void missing.delete(uid),
    faults: () => missing.values(),
  };
}

/** Creates the gauge, which calls `source` at each scrape. @param source returns undefined if this process does not lead */
export function policyGauge(registers: Registry[], source: () => Iterable<MissingPolicy> | undefined): void {
  new Gauge({
    name: "hookbox_template_network_policy_missing",
    help: "1 for each SandboxTemplate whose NetworkPolicy is not in force, by what is wrong with it",
    labelNames: ["namespace", "template", "state"],
    registers,
    collect() {
      this.reset();
      for (const { namespace, template, state } of source() ?? []) {
        this.set({ namespace, template: labelValue(template), state }, 1);
      }
    },
  });
}
