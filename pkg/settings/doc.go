// SPDX-License-Identifier: Apache-2.0

// Package settings reads the arguments of the plugin capacity in the scheduler's configuration.
package settings
