// Package install holds tests of what an installation is made of: the definition of
// a policy, the kustomize overlays, the Helm chart, the OLM bundle, the dashboard and
// the alerts, the image. What can be applied is applied with kubectl to a real API
// server; then Ambit runs as the ServiceAccount of its Deployment, with its arguments,
// outside of a container.
package install
