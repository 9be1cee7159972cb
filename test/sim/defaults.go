package sim

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// setDefaults fills in what the API server does for the built-in kinds that policies
// make. obj has gone through its Go type.
func setDefaults(kind string, obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	switch kind {
	case "Namespace":
		defaultNamespace(obj)
	case "Secret":
		fill(obj, "type", "Opaque")
		encodeSecret(obj)
	case "Deployment":
		defaultDeployment(spec)
	case "StatefulSet":
		defaultStatefulSet(spec)
	case "Job":
		defaultJob(spec)
	case "Pod":
		defaultPod(spec)
	case "Service":
		fill(spec, "type", "ClusterIP")
		fill(spec, "sessionAffinity", "None")
		fill(spec, "internalTrafficPolicy", "Cluster")
		defaultProtocols(spec)
	case "PersistentVolumeClaim":
		fill(spec, "volumeMode", "Filesystem")
	case "NetworkPolicy":
		defaultNetworkPolicy(spec)
	case "RoleBinding", "ClusterRoleBinding":
		defaultBinding(obj)
	}
}

// fill sets what is not there.
func fill(into map[string]any, key string, value any) {
	if into == nil {
		return
	}
	if now, ok := into[key]; !ok || now == nil || now == "" {
		into[key] = value
	}
}

// inner is the map of a key, made if there is none.
func inner(of map[string]any, key string) map[string]any {
	if of == nil {
		return nil
	}
	found, ok := of[key].(map[string]any)
	if !ok {
		found = map[string]any{}
		of[key] = found
	}
	return found
}

// entries are those of a list that are maps.
func entries(of map[string]any, key string) (all []map[string]any) {
	list, _ := of[key].([]any)
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			all = append(all, entry)
		}
	}
	return all
}

// defaultNamespace sets the label with the namespace's name.
func defaultNamespace(obj map[string]any) {
	metadata := inner(obj, "metadata")
	if name, _ := metadata["name"].(string); name != "" {
		inner(metadata, "labels")["kubernetes.io/metadata.name"] = name
	}
}

// encodeSecret moves the texts of a Secret into its data.
func encodeSecret(obj map[string]any) {
	texts, _ := obj["stringData"].(map[string]any)
	for key, text := range texts {
		inner(obj, "data")[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(text)))
	}
	delete(obj, "stringData")
}

func defaultBinding(obj map[string]any) {
	fill(inner(obj, "roleRef"), "apiGroup", rbacGroup)
	for _, subject := range entries(obj, "subjects") {
		if subject["kind"] != "ServiceAccount" {
			fill(subject, "apiGroup", rbacGroup)
		}
	}
}

func defaultProtocols(of map[string]any) {
	for _, port := range entries(of, "ports") {
		fill(port, "protocol", "TCP")
	}
}

func defaultNetworkPolicy(spec map[string]any) {
	types := []any{"Ingress"}
	if spec["egress"] != nil {
		types = append(types, "Egress")
	}
	fill(spec, "policyTypes", types)
	for _, rule := range slices.Concat(entries(spec, "ingress"), entries(spec, "egress")) {
		defaultProtocols(rule)
	}
}

func defaultDeployment(spec map[string]any) {
	fill(spec, "replicas", int64(1))
	fill(spec, "revisionHistoryLimit", int64(10))
	fill(spec, "progressDeadlineSeconds", int64(600))
	strategy := inner(spec, "strategy")
	fill(strategy, "type", "RollingUpdate")
	if strategy["type"] == "RollingUpdate" {
		rolling := inner(strategy, "rollingUpdate")
		fill(rolling, "maxUnavailable", "25%")
		fill(rolling, "maxSurge", "25%")
	}
	defaultPod(inner(inner(spec, "template"), "spec"))
}

func defaultStatefulSet(spec map[string]any) {
	fill(spec, "replicas", int64(1))
	fill(spec, "revisionHistoryLimit", int64(10))
	fill(spec, "podManagementPolicy", "OrderedReady")
	retention := inner(spec, "persistentVolumeClaimRetentionPolicy")
	fill(retention, "whenDeleted", "Retain")
	fill(retention, "whenScaled", "Retain")
	strategy := inner(spec, "updateStrategy")
	fill(strategy, "type", "RollingUpdate")
	if strategy["type"] == "RollingUpdate" {
		fill(inner(strategy, "rollingUpdate"), "partition", int64(0))
	}
	defaultPod(inner(inner(spec, "template"), "spec"))
}

func defaultJob(spec map[string]any) {
	if spec["completions"] == nil && spec["parallelism"] == nil {
		fill(spec, "completions", int64(1))
	}
	fill(spec, "parallelism", int64(1))
	fill(spec, "backoffLimit", int64(6))
	fill(spec, "completionMode", "NonIndexed")
	fill(spec, "suspend", false)
	fill(spec, "manualSelector", false)
	fill(spec, "podReplacementPolicy", "TerminatingOrFailed")
	defaultPod(inner(inner(spec, "template"), "spec"))
}

func defaultPod(spec map[string]any) {
	fill(spec, "restartPolicy", "Always")
	fill(spec, "terminationGracePeriodSeconds", int64(30))
	fill(spec, "dnsPolicy", "ClusterFirst")
	fill(spec, "schedulerName", "default-scheduler")
	inner(spec, "securityContext")
	for _, container := range slices.Concat(entries(spec, "initContainers"), entries(spec, "containers")) {
		defaultContainer(container)
	}
	for _, volume := range entries(spec, "volumes") {
		for _, kind := range []string{"configMap", "secret"} {
			if source, ok := volume[kind].(map[string]any); ok {
				fill(source, "defaultMode", int64(420))
			}
		}
	}
}

func defaultContainer(container map[string]any) {
	fill(container, "terminationMessagePath", "/dev/termination-log")
	fill(container, "terminationMessagePolicy", "File")
	image, _ := container["image"].(string)
	policy := "IfNotPresent"
	if !strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") || strings.HasSuffix(image, ":latest") {
		policy = "Always"
	}
	fill(container, "imagePullPolicy", policy)
	defaultProtocols(container)
	for _, env := range entries(container, "env") {
		from, _ := env["valueFrom"].(map[string]any)
		if ref, ok := from["fieldRef"].(map[string]any); ok {
			fill(ref, "apiVersion", "v1")
		}
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if probe, ok := container[name].(map[string]any); ok {
			defaultProbe(probe)
		}
	}
}

func defaultProbe(probe map[string]any) {
	fill(probe, "failureThreshold", int64(3))
	fill(probe, "periodSeconds", int64(10))
	fill(probe, "successThreshold", int64(1))
	fill(probe, "timeoutSeconds", int64(1))
	if get, ok := probe["httpGet"].(map[string]any); ok {
		fill(get, "scheme", "HTTP")
		fill(get, "path", "/")
	}
}

// prepareBuiltin gives a new object what the API server adds beside defaults, which is
// in nobody's managedFields: its first status, and what is allocated.
func (c *call) prepareBuiltin(obj map[string]any) {
	kind := c.served.gvk.Kind
	if c.served.status && kind != "Namespace" {
		status, ok := c.served.decoder.empty().Object["status"]
		set(obj, "status", status, ok)
	}
	spec, _ := obj["spec"].(map[string]any)
	metadata := inner(obj, "metadata")
	switch kind {
	case "Namespace":
		prepareNamespace(obj)
	case definitionKind:
		resetDefinition(obj)
	case "Pod":
		obj["status"] = map[string]any{"phase": "Pending", "qosClass": "BestEffort"}
	case "PersistentVolumeClaim":
		obj["status"] = map[string]any{"phase": "Pending"}
		held, _ := metadata["finalizers"].([]any)
		metadata["finalizers"] = append(held, "kubernetes.io/pvc-protection")
	case "Service":
		c.allocateAddress(spec)
	case "Job":
		prepareJob(spec, metadata)
	}
}

// allocateAddress gives a Service an address, unless it has one or wants none.
func (c *call) allocateAddress(spec map[string]any) {
	if spec["type"] == "ExternalName" {
		return
	}
	fill(spec, "clusterIP", fmt.Sprintf("10.%d.%d.%d", c.version>>16&0xff, c.version>>8&0xff, c.version&0xff))
	fill(spec, "clusterIPs", []any{spec["clusterIP"]})
	fill(spec, "ipFamilies", []any{"IPv4"})
	fill(spec, "ipFamilyPolicy", "SingleStack")
}

// prepareJob has a Job choose its Pods by its uid.
func prepareJob(spec, metadata map[string]any) {
	if spec["manualSelector"] == true {
		return
	}
	labels := inner(inner(inner(spec, "template"), "metadata"), "labels")
	for _, prefix := range []string{"batch.kubernetes.io/", ""} {
		labels[prefix+"controller-uid"], labels[prefix+"job-name"] = metadata["uid"], metadata["name"]
	}
	inner(inner(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] = metadata["uid"]
}
