// SPDX-License-Identifier: Apache-2.0

// Package config embeds the manifests and the scheduler configuration that users install into their cluster.
package config

import "embed"

// FS has the folders admission, crd, dispatcher, rbac, scheduler, visibility, webhook and samples.
//
//go:embed admission/*.yaml crd/*.yaml dispatcher/*.yaml rbac/*.yaml scheduler/*.conf visibility/*.yaml webhook/*.yaml samples
var FS embed.FS
