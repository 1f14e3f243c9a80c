{{/* The namespace in which the router must be. */}}
{{- define "hookbox.routerNamespace" -}}agent-sandbox-system{{- end }}

{{/*
Renders one object of deploy/ in its namespace, changed by the values of its process.
Takes: object, process (its folder), values (of the process), root.
*/}}
{{- define "hookbox.object" }}
{{- $object := .object }}
{{- $metadata := $object.metadata }}
{{- $namespace := .root.Release.Namespace }}
{{- if has .process (list "router" "e2b") }}{{ $namespace = include "hookbox.routerNamespace" .root }}{{ end }}
{{- $policies := list "ValidatingAdmissionPolicy" "ValidatingAdmissionPolicyBinding" "MutatingAdmissionPolicy" "MutatingAdmissionPolicyBinding" }}
{{- $clusterWide := concat $policies (list "ClusterRole" "ClusterRoleBinding") }}
{{- if not (has $object.kind $clusterWide) }}{{ $_ := set $metadata "namespace" $namespace }}{{ end }}
{{- $labels := dict "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) }}
{{- $_ := set $metadata "labels" (merge $labels ($metadata.labels | default dict)) }}
{{- if eq $object.kind "Deployment" }}{{ include "hookbox.values" . }}{{ end }}
{{- if and (eq .process "hooks") (eq $object.kind "NetworkPolicy") }}
{{- with (include "hookbox.tracingEgress" .root) }}{{ $_ := set $object.spec "egress" (fromYamlArray .) }}{{ end }}
{{- with .root.Values.hooks.networkPolicy.metacontrollerLabels }}
{{- $_ := set (first (first $object.spec.ingress).from) "podSelector" (dict "matchLabels" .) }}
{{- end }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}

{{/* Egress rules of the hooks' NetworkPolicy: to DNS and to the collector of spans, if there is one. */}}
{{- define "hookbox.tracingEgress" }}
{{- with .Values.tracing.endpoint }}
{{- $url := urlParse . }}
{{- $parts := splitList "." (first (splitList ":" $url.host)) }}
{{- $named := $.Release.Namespace }}
{{- if gt (len $parts) 1 }}{{ $named = index $parts 1 }}{{ end }}
{{- $ports := splitList ":" $url.host }}
{{- $port := ternary "443" "80" (eq $url.scheme "https") }}
{{- if gt (len $ports) 1 }}{{ $port = last $ports }}{{ end -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ $.Values.tracing.namespace | default $named }}
  ports:
    - port: {{ $port }}
{{- end }}
{{- end }}

{{/* Changes a Deployment according to the values of its process. */}}
{{- define "hookbox.values" }}
{{- $values := .values | default dict }}
{{- $spec := .object.spec }}
{{- $template := $spec.template }}
{{- $pod := $template.spec }}
{{- $container := first $pod.containers }}
{{- $tag := $values.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- $_ := set $container "image" (printf "%s:%s" .root.Values.image.repository $tag) }}
{{- $_ := set $container "imagePullPolicy" .root.Values.image.pullPolicy }}
{{- with .root.Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end }}
{{- if hasKey $values "replicas" }}{{ $_ := set $spec "replicas" $values.replicas }}{{ end }}
{{- with .root.Values.tracing.endpoint }}
{{- if not (has $.process (list "v1alpha1" "e2b")) }}
{{- $_ := set $container "args" (append $container.args (printf "--otlp-endpoint=%s" .)) }}
{{- if eq $.process "hooks" }}
{{- $command := list }}
{{- range $container.command }}
{{- $more := printf "%s,%s" . (urlParse $.root.Values.tracing.endpoint).host }}
{{- $command = append $command (ternary $more . (hasPrefix "--allow-net=" .)) }}
{{- end }}
{{- $_ := set $container "command" $command }}
{{- end }}
{{- end }}
{{- end }}
{{- $policy := .root.Values.templateNetworkPolicy | default dict }}
{{- if and $policy.deniedEgressCIDRs (eq .object.metadata.name "sandboxtemplate") }}
{{- $_ := set $container "args" (append $container.args (printf "--denied-egress-cidrs=%s" (join "," $policy.deniedEgressCIDRs))) }}
{{- end }}
{{- if and (eq .process "keeper") .root.Values.cloudEvents.url }}{{ include "hookbox.cloudEvents" . }}{{ end }}
{{- if and (eq .process "e2b") $values.domain }}
{{- $_ := set $container "args" (append $container.args (printf "--domain=%s" $values.domain)) }}
{{- end }}
{{- with $values.args }}{{ $_ := set $container "args" (concat $container.args .) }}{{ end }}
{{- with $values.resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $values $key }}{{ $_ := set $pod $key . }}{{ end }}
{{- end }}
{{- with $values.volumes }}{{ $_ := set $pod "volumes" (concat ($pod.volumes | default list) .) }}{{ end }}
{{- with $values.volumeMounts }}
{{- $_ := set $container "volumeMounts" (concat ($container.volumeMounts | default list) .) }}
{{- end }}
{{- with $values.podLabels }}{{ $_ := set $template.metadata "labels" (merge $template.metadata.labels .) }}{{ end }}
{{- with $values.podAnnotations }}{{ $_ := set $template.metadata "annotations" . }}{{ end }}
{{- /* Processes read the ConfigMap only when they start. If it changes, this annotation restarts them. */}}
{{- $config := include "hookbox.config" .root | fromYaml }}
{{- $read := dict }}
{{- range $container.env }}
{{- $key := dig "valueFrom" "configMapKeyRef" "key" "" . }}
{{- if hasKey $config $key }}{{ $_ := set $read $key (get $config $key) }}{{ end }}
{{- end }}
{{- with $read }}
{{- $hash := dict "hookbox.agents.x-k8s.io/config" (toJson . | sha256sum) }}
{{- $_ := set $template.metadata "annotations" (merge $hash ($template.metadata.annotations | default dict)) }}
{{- end }}
{{- end }}

{{/* The settings that several processes share, from the values: the data of the ConfigMap agent-sandbox-config. */}}
{{- define "hookbox.config" }}
{{- $data := dict }}
{{- range $kind, $domains := dict "label" .Values.claims.allowedLabelDomains "annotation" .Values.claims.allowedAnnotationDomains }}
{{- if not (kindIs "invalid" $domains) }}{{ $_ := set $data (printf "allowed-%s-domains" $kind) (join "," $domains) }}{{ end }}
{{- end }}
{{- $policy := .Values.templateNetworkPolicy | default dict }}
{{- if and (hasKey $policy "required") (not $policy.required) }}
{{- $_ := set $data "template-network-policy" "optional" }}
{{- end }}
{{- toYaml $data }}
{{- end }}

{{/* Lets the keeper send CloudEvents. Its Deno may only read /var/run/secrets. */}}
{{- define "hookbox.cloudEvents" }}
{{- $events := .root.Values.cloudEvents }}
{{- $secret := required "cloudEvents.url needs cloudEvents.secretName, a Secret to sign with" $events.secretName }}
{{- $pod := .object.spec.template.spec }}
{{- $container := first $pod.containers }}
{{- $path := "/var/run/secrets/hookbox-cloudevents" }}
{{- $args := list (printf "--cloudevents-url=%s" $events.url) (printf "--cloudevents-secret-file=%s/secret" $path) }}
{{- with $events.source }}{{ $args = append $args (printf "--cloudevents-source=%s" .) }}{{ end }}
{{- $_ := set $container "args" (concat $container.args $args) }}
{{- $volume := dict "name" "cloudevents" "secret" (dict "secretName" $secret) }}
{{- $_ := set $pod "volumes" (append ($pod.volumes | default list) $volume) }}
{{- $mount := dict "name" "cloudevents" "mountPath" $path "readOnly" true }}
{{- $_ := set $container "volumeMounts" (append ($container.volumeMounts | default list) $mount) }}
{{- end }}

{{/*
The certificate of the conversion hook, as data of a Secret: the cluster's certificate, or a new one if the cluster has
none or an old one. A new certificate has a new authority. "ca.crt" then contains the new and the previous authority, so
that API servers trust both until the hook uses the new certificate. All calls in one rendering return the same
certificate. Sets .Values.v1alpha1.issuedAt, in seconds since the epoch.
*/}}
{{- define "hookbox.certificate" }}
{{- if not (hasKey .Values.v1alpha1 "made") }}
{{- $secret := lookup "v1" "Secret" .Release.Namespace "hookbox-conversion-tls" }}
{{- $made := $secret.data | default dict }}
{{- $now := now | unixEpoch }}
{{- $issuedAt := $now }}
{{- if hasKey $made "ca.crt" }}
{{- $created := toDate "2006-01-02T15:04:05Z" $secret.metadata.creationTimestamp | unixEpoch }}
{{- $issuedAt = get ($secret.metadata.annotations | default dict) "hookbox.agents.x-k8s.io/issued-at" | default $created }}
{{- end }}
{{- $age := sub (int64 $now) (int64 $issuedAt) }}
{{- $certificate := merge (deepCopy (.Values.v1alpha1.certificate | default dict)) (dict "days" 3650) }}
{{- $renewAfterDays := ternary $certificate.renewAfterDays 1825 (hasKey $certificate "renewAfterDays") }}
{{- $isOld := ge $age (mul (int64 $renewAfterDays) 86400) }}
{{- if or $isOld (not (hasKey $made "ca.crt")) }}
{{- $host := printf "conversion.%s.svc" .Release.Namespace }}
{{- $days := int $certificate.days }}
{{- $ca := genCA "hookbox-conversion" $days }}
{{- $cert := genSignedCert $host nil (list $host) $days $ca }}
{{- $before := get $made "ca.crt" | b64dec | regexFind "-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?" }}
{{- $authorities := printf "%s\n%s" ($ca.Cert | trim) $before }}
{{- $made = dict "ca.crt" ($authorities | b64enc) "tls.crt" ($cert.Cert | b64enc) "tls.key" ($cert.Key | b64enc) }}
{{- $issuedAt = $now }}
{{- end }}
{{- $_ := set .Values.v1alpha1 "made" $made }}
{{- $_ := set .Values.v1alpha1 "issuedAt" $issuedAt }}
{{- end }}
{{- toYaml .Values.v1alpha1.made }}
{{- end }}
