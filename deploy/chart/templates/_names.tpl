{{- define "hanse.name" -}}
{{- if contains "hanse" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-hanse" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "hanse.selector" -}}
app.kubernetes.io/name: hanse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hanse.labels" -}}
{{ include "hanse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
