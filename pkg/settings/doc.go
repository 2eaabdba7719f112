// SPDX-License-Identifier: Apache-2.0

// Package settings reads the arguments of the plugin capacity from the scheduler's configuration.
package settings
