{{/* The flags of `ambit run`, as a list. */}}
{{- define "ambit.arguments" -}}
- run
{{- if .Values.policies.files }}
- -f=/etc/ambit/policies
{{- end }}
- --policies-from={{ include "ambit.sources" . }}
{{- if .Values.namespaces }}
- --namespaces={{ join "," .Values.namespaces }}
{{- else if not (include "ambit.cluster" .) }}
- --namespaces=$(POD_NAMESPACE)
{{- end }}
- --leader-elect={{ .Values.leaderElection.mode }}
{{- with .Values.leaderElection.namespace }}
- --leader-election-namespace={{ . }}
{{- end }}
- --health-probe-bind-address=:{{ .Values.health.port }}
{{- if include "ambit.metrics" . }}
- --metrics-bind-address=:{{ .Values.metrics.port }}
{{- if not .Values.metrics.secure }}
- --metrics-secure=false
{{- end }}
{{- if .Values.metrics.certificateSecret }}
- --metrics-cert-path=/etc/ambit/certificate
{{- end }}
{{- end }}
{{- if .Values.enableHTTP2 }}
- --enable-http2
{{- end }}
{{- with .Values.pprof.address }}
- --pprof-bind-address={{ . }}
{{- end }}
{{- with .Values.concurrency }}
- --concurrency={{ . }}
{{- end }}
{{- with .Values.qps }}
- --qps={{ . }}
{{- end }}
{{- with .Values.burst }}
- --burst={{ . }}
{{- end }}
{{- with .Values.log.level }}
- --zap-log-level={{ . }}
{{- end }}
{{- with .Values.log.encoder }}
- --zap-encoder={{ . }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
