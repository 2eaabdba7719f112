{{/* The name of the release's objects. */}}
{{- define "devicequota.name" -}}
{{- .Values.fullnameOverride | default (printf "%s-scheduler" .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* A canary has the ServiceAccount of the release that it is beside. */}}
{{- define "devicequota.serviceAccount" -}}
{{- $default := include "devicequota.name" . -}}
{{- with .Values.canaryOf }}{{ $default = printf "%s-scheduler" . | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- .Values.serviceAccount.name | default $default -}}
{{- end -}}

{{/* Whether the scheduler serves its ledger. Of a canary, it does not. */}}
{{- define "devicequota.visible" -}}
{{- if and .Values.visibility.enabled (not .Values.canaryOf) }}true{{ end -}}
{{- end -}}

{{- define "devicequota.configMap" -}}
{{- .Values.configuration.existingConfigMap | default (printf "%s-configmap" (include "devicequota.name" .)) -}}
{{- end -}}

{{- define "devicequota.image" -}}
{{- $image := required "Set image.repository to the repository of the scheduler's image, such as registry.example.com/devicequota/vc-scheduler" .Values.image.repository -}}
{{- printf "%s:%s" $image (.Values.image.tag | default .Chart.AppVersion) -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* The image of vc-webhook is beside that of the scheduler, unless the values name another one. */}}
{{- define "devicequota.webhookImage" -}}
{{- $image := .Values.webhook.image.repository -}}
{{- if not $image -}}
{{- $scheduler := required "Set webhook.image.repository to the repository of the webhook's image, such as registry.example.com/devicequota/vc-webhook" .Values.image.repository -}}
{{- $image = regexReplaceAll "[^/]*$" $scheduler "vc-webhook" -}}
{{- end -}}
{{- printf "%s:%s" $image (.Values.webhook.image.tag | default .Values.image.tag | default .Chart.AppVersion) -}}
{{- with .Values.webhook.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "devicequota.labels" -}}
app.kubernetes.io/name: devicequota
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The Secret with the certificate by which API servers verify the scheduler, if there is one. */}}
{{- define "devicequota.certificate" -}}
{{- with .Values.visibility.certificate -}}
{{- if ne (empty .secret) (empty .caBundle) }}{{ fail "visibility.certificate: set both secret and caBundle, or neither" }}{{ end -}}
{{- if include "devicequota.visible" $ }}{{ .secret }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The name of the lease by which the scheduler's replicas elect a leader. Alerts and the dashboard select by it. */}}
{{- define "devicequota.lease" -}}
{{- first .Values.scheduler.names -}}
{{- end -}}

{{/* The text of the scheduler's configuration, without the actions that evict if there shall be no evictions. A canary does not record usage. */}}
{{- define "devicequota.configuration" -}}
{{- $text := .Values.configuration.content | default (.Files.Get "config/scheduler/volcano-scheduler.conf") | trim -}}
{{- $parsed := fromYaml $text -}}
{{- with $parsed.Error }}{{ fail (printf "configuration.content is not a configuration of the scheduler: %s" .) }}{{ end -}}
{{- if .Values.canaryOf -}}
{{- range $parsed.tiers }}{{ range .plugins }}
{{- if eq (toString .name) "capacity" }}{{ $_ := set . "arguments" (set (.arguments | default dict) "accounting" false) }}{{ end -}}
{{- end }}{{ end -}}
{{- end -}}
{{- if not .Values.configuration.evictions -}}
{{- $actions := regexSplit "\\s*,\\s*" (trim $parsed.actions) -1 -}}
{{- $_ := set $parsed "actions" (without $actions "preempt" "reclaim" "gangpreempt" "gangreclaim" "shuffle" | join ", ") -}}
{{- end -}}
{{- if or .Values.canaryOf (not .Values.configuration.evictions) -}}
{{- toYaml $parsed -}}
{{- else -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{/* The label by which the Deployment knows its pods. Volcano's manifests have the same label. */}}
{{- define "devicequota.selector" -}}
app: {{ include "devicequota.name" . }}
{{- end -}}

{{/* An object of config/, with the labels of the release. The arguments are the root and the object. */}}
{{- define "devicequota.labelled" -}}
{{- $labels := merge (include "devicequota.labels" .root | fromYaml) (.object.metadata.labels | default dict) -}}
{{- toYaml (merge (dict "metadata" (dict "labels" $labels)) .object) -}}
{{- end -}}

{{/* The name of the Deployment of Volcano's own scheduler, if it runs and schedules the same pods. helm template does not know what runs. */}}
{{- define "devicequota.volcanosScheduler" -}}
{{- $name := printf "%s-scheduler" .Values.volcano.release }}
{{- $other := lookup "apps/v1" "Deployment" .Values.volcano.namespace $name }}
{{- if and (has "volcano" .Values.scheduler.names) (gt (int .Values.scheduler.replicas) 0) (dig "spec" "replicas" 0 $other) }}{{ $name }}{{ end }}
{{- end }}
