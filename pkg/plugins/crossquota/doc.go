// Package crossquota is a plugin of Volcano's scheduler that keeps room for GPU pods on GPU nodes:
// it limits what all pods without a GPU together may take of a GPU node's cpu, memory and other
// resources, and ranks GPU nodes for them.
//
// In come the plugin's arguments, annotations of nodes and pods, and what pods hold. Out go
// refusals, scores, events and metrics. config.go, limit.go and account.go are the rules; they
// know nothing of sessions. The room stands alone: it needs Volcano and Kubernetes, and nothing
// else of this module. docs/crossquota.md is its manual.
package crossquota
