{{/* The name of all objects: ambit, unless the release is called otherwise. */}}
{{- define "ambit.name" -}}
{{- if or (eq .Release.Name "ambit") (contains "ambit" .Release.Name) -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-ambit" .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "ambit.account" -}}
{{ .Values.serviceAccount.name | default (include "ambit.name" .) }}
{{- end }}

{{- define "ambit.selector" -}}
app.kubernetes.io/name: {{ include "ambit.name" . }}
{{- end }}

{{- define "ambit.labels" -}}
{{ include "ambit.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* cluster is "true" in the mode of that name, and empty otherwise. */}}
{{- define "ambit.cluster" -}}
{{ if eq .Values.mode "cluster" }}true{{ end }}
{{- end }}

{{- define "ambit.metrics" -}}
{{ if kindIs "bool" .Values.metrics.enabled }}{{ if .Values.metrics.enabled }}true{{ end }}{{ else }}{{ include "ambit.cluster" . }}{{ end }}
{{- end }}

{{- define "ambit.sources" -}}
{{ if .Values.policies.from }}{{ join "," .Values.policies.from }}{{ else if include "ambit.cluster" . }}crd,configmap{{ else }}configmap{{ end }}
{{- end }}

{{/* crds and maps are "true" where policies come from there, and empty otherwise. */}}
{{- define "ambit.crds" -}}
{{ if has "crd" (splitList "," (include "ambit.sources" .)) }}true{{ end }}
{{- end }}

{{- define "ambit.maps" -}}
{{ if has "configmap" (splitList "," (include "ambit.sources" .)) }}true{{ end }}
{{- end }}

{{/* The namespaces that Ambit works in, for the command line; empty: all. */}}
{{- define "ambit.places" -}}
{{ if .Values.namespaces }}{{ join "," .Values.namespaces }}{{ else if not (include "ambit.cluster" .) }}{{ .Release.Namespace }}{{ end }}
{{- end }}

{{- define "ambit.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Nine tenths of a limit in Mi or Gi, in Go's way of writing. */}}
{{- define "ambit.goMemoryLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- if .Values.goMemoryLimit -}}
{{ .Values.goMemoryLimit }}
{{- else if regexMatch "^[0-9]+Mi$" $limit -}}
{{ div (mul (trimSuffix "Mi" $limit | int64) 9) 10 }}MiB
{{- else if regexMatch "^[0-9]+Gi$" $limit -}}
{{ div (mul (trimSuffix "Gi" $limit | int64) 9216) 10 }}MiB
{{- else if $limit -}}
{{ fail "resources.limits.memory is neither in Mi nor in Gi: set goMemoryLimit" }}
{{- end -}}
{{- end }}
