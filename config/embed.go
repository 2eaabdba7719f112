// SPDX-License-Identifier: Apache-2.0

// Package config embeds the manifests and the scheduler configuration that users install into their cluster.
package config

import "embed"

// FS has the folders admission, crd, rbac, scheduler and samples.
//
//go:embed admission/*.yaml crd/*.yaml rbac/*.yaml scheduler/*.conf samples
var FS embed.FS
