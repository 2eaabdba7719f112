// Package config embeds what users install into their cluster.
package config

import "embed"

// FS has the folders crd, rbac, scheduler and samples of this package.
//
//go:embed crd/*.yaml rbac/*.yaml scheduler/*.conf samples
var FS embed.FS
